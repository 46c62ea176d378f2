/* SPDX-License-Identifier: GPL-2.0 */
/* What PID 1's files share: init.c runs the guest, judge.c looks it over. */
#ifndef GUEST_H
#define GUEST_H

/* init.c */
void reason(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
long long now_ms(void);
void pause_ms(int ms);

/* judge.c */
void judge_before(void);
void judge_leftovers(void);
int judge_leaks(void);
void judge_taint(void);

#endif
