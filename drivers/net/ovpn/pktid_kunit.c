// SPDX-License-Identifier: GPL-2.0-only
/*  OpenVPN data channel offload: KUnit tests of packet IDs for xmit */

#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/bits.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/sched/task.h>
#include <uapi/linux/ovpn.h>

#include "crypto.h"
#include "ovpn_kunit.h"
#include "pktid.h"

/* what is raced for, by how many threads, in ranges of up to how many */
#define IDS		BIT(21)
#define THREADS		4
#define RANGE_MAX	8
/* more than all ranges together, which are of 4.5 IDs in the mean */
#define RANGES		(IDS / 4)

static void ovpn_pktid_range_start(struct kunit *test)
{
	struct ovpn_pktid_xmit pid;
	u32 id = 0;

	ovpn_pktid_xmit_init(&pid);
	KUNIT_EXPECT_EQ(test, ovpn_pktid_xmit_range(&pid, 1, &id), 0);
	KUNIT_EXPECT_EQ(test, id, 1);
	KUNIT_EXPECT_EQ(test, ovpn_pktid_xmit_range(&pid, 5, &id), 0);
	KUNIT_EXPECT_EQ(test, id, 2);
	KUNIT_EXPECT_EQ(test, ovpn_pktid_xmit_next(&pid, &id), 0);
	KUNIT_EXPECT_EQ(test, id, 7);
	KUNIT_EXPECT_EQ(test, ovpn_pktid_xmit_range(&pid, 128, &id), 0);
	KUNIT_EXPECT_EQ(test, id, 8);
	KUNIT_EXPECT_EQ(test, ovpn_pktid_xmit_next(&pid, &id), 0);
	KUNIT_EXPECT_EQ(test, id, 136);
}

struct pktid_range_case {
	const char *name;
	/* next ID, zero if there is none */
	u32 next;
	unsigned int n;
	int ret;
	/* next ID afterwards */
	u32 after;
};

static const struct pktid_range_case pktid_range_cases[] = {
	{ "one before the end", U32_MAX - 9, 9, 0, U32_MAX },
	{ "up to the end", U32_MAX - 9, 10, 0, 0 },
	{ "one beyond the end", U32_MAX - 9, 11, -ERANGE, 0 },
	{ "far beyond the end", U32_MAX - 9, U32_MAX, -ERANGE, 0 },
	{ "the last ID", U32_MAX, 1, 0, 0 },
	{ "the last ID and one more", U32_MAX, 2, -ERANGE, 0 },
	{ "one after the end", 0, 1, -ERANGE, 0 },
	{ "many after the end", 0, 128, -ERANGE, 0 },
	{ "all IDs", 1, U32_MAX, 0, 0 },
	{ "more than all IDs", 2, U32_MAX, -ERANGE, 0 },
	{ "across the sign", S32_MAX, 2, 0, 0x80000001 },
	{ "beyond the sign", 0x80000000, 128, 0, 0x80000080 },
};

KUNIT_ARRAY_PARAM_DESC(pktid_range, pktid_range_cases, name);

static void ovpn_pktid_range_end(struct kunit *test)
{
	const struct pktid_range_case *c = test->param_value;
	struct ovpn_pktid_xmit pid;
	u32 id = 0x5a5a5a5a;

	atomic_set(&pid.seq_num, c->next);
	KUNIT_EXPECT_EQ(test, ovpn_pktid_xmit_range(&pid, c->n, &id), c->ret);
	KUNIT_EXPECT_EQ(test, id, c->ret ? 0x5a5a5a5a : c->next);
	KUNIT_EXPECT_EQ(test, (u32)atomic_read(&pid.seq_num), c->after);

	if (c->after) {
		KUNIT_EXPECT_EQ(test, ovpn_pktid_xmit_next(&pid, &id), 0);
		KUNIT_EXPECT_EQ(test, id, c->after);
	} else {
		/* the end is final, for ranges and for single IDs */
		KUNIT_EXPECT_EQ(test, ovpn_pktid_xmit_next(&pid, &id), -ERANGE);
		KUNIT_EXPECT_EQ(test, ovpn_pktid_xmit_range(&pid, 1, &id),
				-ERANGE);
	}
}

struct pktid_race {
	struct ovpn_crypto_state cs;
	struct ovpn_crypto_key_slot *ks;
	struct completion go;
	/* threads that were the first to see the key's end */
	atomic_t kills;
	/* IDs that were handed out after the end */
	atomic_t late;
};

struct pktid_thread {
	struct pktid_race *race;
	struct task_struct *task;
	struct completion done;
	unsigned int seed;
	unsigned int ranges;
	/* first IDs of all ranges, their lengths follow from the seed */
	u32 *first;
};

static unsigned int pktid_length(unsigned int *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return 1 + (*seed >> 16) % RANGE_MAX;
}

static int pktid_take(struct pktid_race *race, unsigned int n, u32 *first)
{
	/* single IDs come from where there is no range */
	return n > 1 ? ovpn_pktid_xmit_range(&race->ks->pid_xmit, n, first) :
		       ovpn_pktid_xmit_next(&race->ks->pid_xmit, first);
}

static int pktid_thread(void *data)
{
	struct pktid_thread *t = data;
	struct pktid_race *race = t->race;
	unsigned int seed = t->seed;
	u32 id;
	int i;

	wait_for_completion(&race->go);

	while (t->ranges < RANGES &&
	       !pktid_take(race, pktid_length(&seed), &t->first[t->ranges])) {
		if (!(++t->ranges % 4096))
			cond_resched();
	}

	if (ovpn_crypto_kill_key(&race->cs, race->ks))
		atomic_inc(&race->kills);
	for (i = 1; i < 100; i++)
		if (!pktid_take(race, i, &id))
			atomic_inc(&race->late);

	complete(&t->done);
	return 0;
}

/* mark what a thread got, return how many IDs somebody else got as well */
static unsigned int pktid_mark(const struct pktid_thread *t,
			       unsigned long *seen)
{
	unsigned int seed = t->seed, twice = 0, n, i;
	u32 id;

	for (i = 0; i < t->ranges; i++) {
		/* zero, and what is far away, are no IDs of this race */
		id = t->first[i] - (U32_MAX - IDS + 1);
		for (n = pktid_length(&seed); n; n--, id++)
			if (id >= IDS || __test_and_set_bit(id, seen))
				twice++;
	}

	return twice;
}

KUNIT_DEFINE_ACTION_WRAPPER(pktid_free, kvfree, const void *);

static void *pktid_alloc(struct kunit *test, size_t n, size_t size)
{
	void *p = kvcalloc(n, size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, pktid_free, p),
			0);
	return p;
}

/* reserve from all CPUs at once until nothing is left */
static void ovpn_pktid_range_race(struct kunit *test)
{
	unsigned int cpu = cpumask_first(cpu_online_mask), threads, i;
	struct pktid_thread *thread;
	struct pktid_race *race;
	unsigned long *seen;
	unsigned long end;

	race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, race);
	thread = kunit_kcalloc(test, THREADS, sizeof(*thread), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, thread);
	for (i = 0; i < THREADS; i++)
		thread[i].first = pktid_alloc(test, RANGES, sizeof(u32));
	seen = pktid_alloc(test, BITS_TO_LONGS(IDS), sizeof(*seen));

	init_completion(&race->go);
	race->ks = ovpn_kunit_key(test, OVPN_CIPHER_ALG_AES_GCM);
	atomic_set(&race->ks->pid_xmit.seq_num, U32_MAX - IDS + 1);
	ovpn_crypto_state_init(&race->cs);
	rcu_assign_pointer(race->cs.slots[0], race->ks);

	for (threads = 0; threads < THREADS; threads++) {
		struct pktid_thread *t = &thread[threads];

		t->race = race;
		t->seed = threads;
		init_completion(&t->done);
		t->task = kthread_create_on_cpu(pktid_thread, t, cpu,
						"ovpn_kunit/%u");
		if (IS_ERR(t->task))
			break;
		get_task_struct(t->task);
		wake_up_process(t->task);
		cpu = cpumask_next_wrap(cpu, cpu_online_mask);
	}

	complete_all(&race->go);
	for (i = 0; i < threads; i++) {
		wait_for_completion(&thread[i].done);
		kthread_stop_put(thread[i].task);
	}

	KUNIT_EXPECT_EQ(test, threads, THREADS);
	KUNIT_EXPECT_EQ(test, atomic_read(&race->kills), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&race->late), 0);
	for (i = 0; i < threads; i++)
		KUNIT_EXPECT_EQ(test, pktid_mark(&thread[i], seen), 0);
	/* what is abandoned is less than a range, and at the very end */
	end = find_first_zero_bit(seen, IDS);
	KUNIT_EXPECT_EQ(test, find_next_bit(seen, IDS, end), IDS);
	KUNIT_EXPECT_GT(test, end, IDS - RANGE_MAX);
}

static struct kunit_case ovpn_pktid_cases[] = {
	KUNIT_CASE(ovpn_pktid_range_start),
	KUNIT_CASE_PARAM(ovpn_pktid_range_end, pktid_range_gen_params),
	KUNIT_CASE(ovpn_pktid_range_race),
	{}
};

static struct kunit_suite ovpn_pktid_suite = {
	.name = "ovpn_pktid",
	.test_cases = ovpn_pktid_cases,
};

kunit_test_suite(ovpn_pktid_suite);
