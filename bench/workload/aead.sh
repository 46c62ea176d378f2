# SPDX-License-Identifier: GPL-2.0
# the AEAD alone: records of as many bytes as the argument says, encrypted and
# decrypted in one loop in the kernel

case $CIPHER in
AES-128-GCM)	alg="gcm(aes) 16" ;;
AES-256-GCM)	alg="gcm(aes) 32" ;;
CHACHA20-POLY1305) alg="rfc7539(chacha20,poly1305) 32" ;;
*)	die "no such cipher: $CIPHER" ;;
esac
insmod /bench/modules/aeadloop.ko
i=0
while [ $((i += 1)) -le "$WINDOWS" ]; do
	echo "$alg $ARG 5000" > /sys/kernel/debug/aeadloop
	cat /sys/kernel/debug/aeadloop
	sed 's/\([^ ]*\)=\([^ ]*\)/"\1":"\2",/g; s/^/window {/; s/,$/}/' \
		/sys/kernel/debug/aeadloop > /dev/ttyS1
done
