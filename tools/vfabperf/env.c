// SPDX-License-Identifier: GPL-2.0
/*
 * Where the numbers come from: machine, kind of machine, and how fast it is
 * right now. Times of an emulator are not those of hardware, and those of a
 * busy machine not those of an idle one.
 */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif
#include "vfabperf.h"

static void file_line(const char *path, const char *key, char *to, size_t len)
{
	char line[256];
	FILE *f = fopen(path, "re");
	char *v;

	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		v = line;
		if (key) {
			if (strncmp(line, key, strlen(key)))
				continue;
			v = strchr(line, ':');
			if (!v)
				continue;
			v += 1 + strspn(v + 1, " \t");
		}
		snprintf(to, len, "%.*s", (int)len - 1, v);
		break;
	}
	fclose(f);
}

static const char *hypervisor(void)
{
#if defined(__x86_64__) || defined(__i386__)
	static const struct {
		const char *signature, *mode;
	} known[] = {
		{ "TCGTCGTCGTCG", "TCG" }, { "KVMKVMKVM", "KVM" },
		{ "Microsoft Hv", "Hyper-V" }, { "VMwareVMware", "VMware" },
		{ "XenVMMXenVMM", "Xen" },
	};
	unsigned int a, b, c, d, i;
	char s[13] = "";

	__cpuid(1, a, b, c, d);
	if (!(c & 1U << 31))
		return "native";
	__cpuid(0x40000000, a, b, c, d);
	memcpy(s, &b, 4);
	memcpy(s + 4, &c, 4);
	memcpy(s + 8, &d, 4);
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(s, known[i].signature))
			return known[i].mode;
	return "VM";
#else
	char vendor[64] = "";

	file_line("/sys/class/dmi/id/sys_vendor", NULL, vendor, sizeof(vendor));
	return strstr(vendor, "QEMU") ? "VM" : "native";
#endif
}

/* UML hands the host's cpuid through, but names itself in cpuinfo. */
static const char *mode(const char *cpu)
{
	char vendor[64] = "";

	file_line("/proc/cpuinfo", "vendor_id", vendor, sizeof(vendor));
	return strstr(vendor, "User Mode Linux") || strstr(cpu, "UML") ?
	       "UML" : hypervisor();
}

struct hop {
	_Alignas(128) _Atomic uint32_t word;
	_Alignas(128) _Atomic uint32_t stop;
};

/* One line to and fro between two processes; ns one way. */
static double hop(void)
{
	struct hop *h;
	cpu_set_t was;
	double x[64], t;
	uint32_t i, k, n = 0;
	pid_t parent = getpid(), pid;

	if (cpu_count() < 2)
		return 0;
	h = mmap(NULL, sizeof(*h), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (h == MAP_FAILED)
		return 0;
	pid = fork();
	if (!pid) {
		/* or it spins for ever, with the endpoint that it inherits */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		pin_to(1);
		for (i = 1; !atomic_load_explicit(&h->stop, memory_order_relaxed);)
			if (atomic_load_explicit(&h->word, memory_order_acquire) == i) {
				atomic_store_explicit(&h->word, i + 1,
						      memory_order_release);
				i += 2;
			}
		_exit(0);
	}
	if (pid > 0) {
		double end = now_ns() + 1e8;

		sched_getaffinity(0, sizeof(was), &was);
		pin_to(0);
		for (i = 1; n < 64 && now_ns() < end; n++) {
			t = now_ns();
			for (k = 0; k < 500; k++, i += 2) {
				atomic_store_explicit(&h->word, i,
						      memory_order_release);
				while (atomic_load_explicit(&h->word,
							    memory_order_acquire) != i + 1)
					;
			}
			x[n] = (now_ns() - t) / 1000;
		}
		h->stop = 1;
		waitpid(pid, NULL, 0);
		sched_setaffinity(0, sizeof(was), &was);
	}
	munmap(h, sizeof(*h));
	return n ? median(x, n) : 0;
}

static double copy_speed(void)
{
	size_t len = 1 << 20;
	char *from = malloc(len), *to = malloc(len);
	double x[15], t;
	int i;

	if (!from || !to)
		return 0;
	memset(from, 1, len);
	memset(to, 2, len);
	for (i = 0; i < 15; i++) {
		t = now_ns();
		memcpy(to, from, len);
		__asm__ volatile("" : : "r"(to) : "memory");
		x[i] = len / (now_ns() - t);
	}
	free(from);
	free(to);
	return median(x, 15);
}

void env_get(struct env *e)
{
	struct utsname u;

	memset(e, 0, sizeof(*e));
	uname(&u);
	snprintf(e->kernel, sizeof(e->kernel), "%s %s", u.release, u.machine);
	snprintf(e->host, sizeof(e->host), "%s", u.nodename);
	strcpy(e->cpu, "unknown");
	file_line("/proc/cpuinfo", "model name", e->cpu, sizeof(e->cpu));
	strcpy(e->mode, mode(e->cpu));
	e->commit = *VFAB_COMMIT ? VFAB_COMMIT : "unknown";
	e->cpus = cpu_count();
	getloadavg(&e->load, 1);
	e->memcpy_gbs = copy_speed();
	e->hop_ns = hop();
}

void env_print(const struct env *e, const struct run *r)
{
	const struct vfab_info *info = vfab_info(r->ep);

	printf("# vfabperf %s (%s) %s: %s, %u of %u ranks on %d CPU%s (%.3g per CPU)\n",
	       VFAB_VERSION, e->commit, r->command, info->name, r->size,
	       info->world, e->cpus, e->cpus == 1 ? "" : "s",
	       (double)r->size / e->cpus);
	printf("# mode %s, kernel %s, cpu %s, load %.2f\n", e->mode, e->kernel,
	       e->cpu, e->load);
	printf("# calibration: ");
	if (e->hop_ns)
		printf("cache-line hop %.0f ns, ", e->hop_ns);
	printf("memcpy of 1 MiB %.2f GB/s\n", e->memcpy_gbs);
	if (r->memfd)
		printf("# memfd: shared memory of this machine, no switch, no isolation; %s\n",
		       "uncounted, unpaced");
	else if (r->raw)
		printf("# plain loads and stores: uncounted, unpaced\n");
	else if (run_paced(r))
		printf("# counted, paced: times are %u times those of the links\n",
		       vfab_view(r->ep)->shape);
	else
		printf("# counted, unpaced: shape is off\n");
	if (!strcmp(e->mode, "TCG"))
		printf("# these are an emulator's times: compare counts and ratios only\n");
}
