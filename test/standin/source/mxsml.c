// SPDX-License-Identifier: Apache-2.0

/* A libmxsml that tells what the file beside it says, and does what that file
 * asks of it: LIBRARY.txt, one thing a line, "-" for an empty word.
 *
 *   version DRIVER MACA
 *   device ID BDF UUID NAME BOARD CHIP KIB STATE CODE REASON MODE LINK TOGGLE CLASS BIOS SRIOV
 *   vf PF ID
 *   link ID ID LEVEL
 *   slice ID INDEX UUID ALIAS COMPUTE MIB
 *   limited ID CODE REASON
 *   fault KIND FUNCTION NUMBER
 *
 * Kinds of faults: code (it returns NUMBER), hang, crash, abort, exit, thread (a
 * thread of its own crashes), print (it writes to standard output), overrun (it
 * writes NUMBER bytes behind its structure), endless (its texts have no end),
 * count (it counts NUMBER). Slices that are made or removed are written back. */
#define _GNU_SOURCE
#include "mxsml.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, NO_DEVICE = 2, NOT_SUPPORTED = 3, SYSFS = 4, BAD_ID = 6, BAD_INPUT = 9, TOO_SMALL = 10, MAX = 256 };

struct device {
	u32 id;
	char bdf[64], uuid[128], name[64], board[64], chip[64];
	long kib;
	int state, code;
	char reason[64];
	u32 mode, link, toggle, class;
	char bios[64];
	u32 sriov;
};
struct slice {
	u32 device, index;
	char uuid[128], alias[64];
	u32 compute, mib;
};
struct fault {
	char kind[16], function[64];
	long number;
};
struct pair {
	u32 a, b, level;
};

static char driver[64], maca[64], path[4096];
static struct device devices[MAX];
static struct slice slices[MAX];
static struct fault faults[MAX];
static struct pair vfs[MAX], links[1 << 14];
static struct limited {
	u32 id;
	int code;
	char reason[64];
} limited[MAX];
static u32 n_limited;
static u32 n_devices, n_slices, n_faults, n_vfs, n_links;

static void empty(char *word) {
	if (strcmp(word, "-") == 0)
		*word = 0;
}

static void load(void) {
	Dl_info self;
	char line[1024];
	if (n_devices || n_faults || !dladdr((void *)load, &self))
		return;
	snprintf(path, sizeof path, "%s.txt", self.dli_fname);
	FILE *f = fopen(path, "r");
	if (!f)
		return;
	while (fgets(line, sizeof line, f)) {
		struct device *d = &devices[n_devices];
		struct slice *s = &slices[n_slices];
		struct fault *x = &faults[n_faults];
		struct pair *l = &links[n_links], *v = &vfs[n_vfs];
		struct limited *m = &limited[n_limited];
		if (sscanf(line, "version %63s %63s", driver, maca) == 2) {
			empty(driver);
			empty(maca);
		} else if (sscanf(line, "device %u %63s %127s %63s %63s %63s %ld %d %d %63s %u %u %u %u %63s %u", &d->id, d->bdf, d->uuid, d->name,
				   d->board, d->chip, &d->kib, &d->state, &d->code, d->reason, &d->mode, &d->link, &d->toggle, &d->class, d->bios, &d->sriov) == 16) {
			char *words[] = {d->bdf, d->uuid, d->name, d->board, d->chip, d->reason, d->bios};
			for (int i = 0; i < 7; i++)
				empty(words[i]);
			n_devices++;
		} else if (sscanf(line, "vf %u %u", &v->a, &v->b) == 2)
			n_vfs++;
		else if (sscanf(line, "link %u %u %u", &l->a, &l->b, &l->level) == 3)
			n_links++;
		else if (sscanf(line, "limited %u %d %63s", &m->id, &m->code, m->reason) == 3) {
			empty(m->reason);
			n_limited++;
		}
		else if (sscanf(line, "slice %u %u %127s %63s %u %u", &s->device, &s->index, s->uuid, s->alias, &s->compute, &s->mib) == 6) {
			empty(s->uuid);
			empty(s->alias);
			n_slices++;
		} else if (sscanf(line, "fault %15s %63s %ld", x->kind, x->function, &x->number) == 3)
			n_faults++;
	}
	fclose(f);
}

static const char *word(const char *s) { return *s ? s : "-"; }

static void save(void) {
	char fresh[4200];
	snprintf(fresh, sizeof fresh, "%s.new", path);
	FILE *f = fopen(fresh, "w");
	if (!f)
		return;
	fprintf(f, "version %s %s\n", word(driver), word(maca));
	for (u32 i = 0; i < n_devices; i++) {
		struct device *d = &devices[i];
		fprintf(f, "device %u %s %s %s %s %s %ld %d %d %s %u %u %u %u %s %u\n", d->id, word(d->bdf), word(d->uuid), word(d->name),
			word(d->board), word(d->chip), d->kib, d->state, d->code, word(d->reason), d->mode, d->link, d->toggle, d->class, word(d->bios), d->sriov);
	}
	for (u32 i = 0; i < n_vfs; i++)
		fprintf(f, "vf %u %u\n", vfs[i].a, vfs[i].b);
	for (u32 i = 0; i < n_links; i++)
		fprintf(f, "link %u %u %u\n", links[i].a, links[i].b, links[i].level);
	for (u32 i = 0; i < n_limited; i++)
		fprintf(f, "limited %u %d %s\n", limited[i].id, limited[i].code, word(limited[i].reason));
	for (u32 i = 0; i < n_slices; i++)
		fprintf(f, "slice %u %u %s %s %u %u\n", slices[i].device, slices[i].index, word(slices[i].uuid), word(slices[i].alias), slices[i].compute, slices[i].mib);
	for (u32 i = 0; i < n_faults; i++)
		fprintf(f, "fault %s %s %ld\n", faults[i].kind, faults[i].function, faults[i].number);
	fclose(f);
	rename(fresh, path);
}

static void *fall(void *at) {
	*(volatile int *)at = 1;
	return NULL;
}

static struct fault *fault(const char *kind, const char *function) {
	for (u32 i = 0; i < n_faults; i++)
		if (strcmp(faults[i].kind, kind) == 0 && strcmp(faults[i].function, function) == 0)
			return &faults[i];
	return NULL;
}

/* begin does what a fault asks of a function; the result is the code to return. */
static u32 begin(const char *function, void *out, size_t size) {
	struct fault *f;
	load();
	if (fault("print", function)) {
		printf("%s was called\n", function);
		fflush(stdout);
		(void)!write(1, "{}\n", 3);
	}
	if (fault("hang", function))
		for (;;)
			pause();
	if (fault("crash", function))
		fall(NULL);
	if (fault("thread", function)) {
		pthread_t t;
		pthread_create(&t, NULL, fall, NULL);
		pthread_join(t, NULL);
	}
	if (fault("abort", function))
		abort();
	if ((f = fault("exit", function)))
		exit(f->number);
	if ((f = fault("overrun", function)) && out)
		memset((char *)out + size, 0, f->number);
	if ((f = fault("code", function)))
		return f->number;
	return OK;
}

#define BEGIN(out, size) \
	do { \
		u32 code = begin(__func__, out, size); \
		if (code) \
			return code; \
	} while (0)

static u32 count(const char *function, u32 n) {
	struct fault *f = fault("count", function);
	return f ? (u32)f->number : n;
}

static void put(const char *function, char *to, size_t size, const char *from) {
	if (fault("endless", function))
		memset(to, 'x', size);
	else
		snprintf(to, size, "%s", from);
}

static u32 put_sized(const char *function, char *to, u32 *size, const char *from) {
	if (!to || !size)
		return BAD_INPUT;
	if (*size < strlen(from) + 1) {
		*size = strlen(from) + 1;
		return TOO_SMALL;
	}
	put(function, to, *size, from);
	*size = strlen(from) + 1;
	return OK;
}

static struct device *find(u32 id) {
	for (u32 i = 0; i < n_devices; i++)
		if (devices[i].id == id)
			return &devices[i];
	return NULL;
}

static struct slice *find_slice(u32 device, u32 index) {
	for (u32 i = 0; i < n_slices; i++)
		if (slices[i].device == device && slices[i].index == index)
			return &slices[i];
	return NULL;
}

static struct limited *find_limited(u32 id) {
	for (u32 i = 0; i < n_limited; i++)
		if (limited[i].id == id)
			return &limited[i];
	return NULL;
}

#define DEVICE(id) \
	struct device *d = find(id); \
	if (!d) \
		return BAD_ID

#define SLICE(id, index) \
	DEVICE(id); \
	struct slice *s = find_slice(id, index); \
	(void)d; \
	if (!s) \
		return NOT_SUPPORTED

u32 mxSmlInit(void) {
	BEGIN(NULL, 0);
	return n_devices > n_limited ? OK : NO_DEVICE;
}

const char *mxSmlGetErrorString(u32 code) {
	static char text[64];
	snprintf(text, sizeof text, "the stand-in's code %u", code);
	return text;
}

u32 mxSmlGetDeviceCount(void) {
	u32 n = 0;
	begin(__func__, NULL, 0);
	for (u32 i = 0; i < n_devices; i++)
		n += devices[i].id < 100 && !find_limited(devices[i].id);
	return count(__func__, n);
}

u32 mxSmlGetPfDeviceCount(void) {
	u32 n = 0;
	begin(__func__, NULL, 0);
	for (u32 i = 0; i < n_devices; i++)
		n += devices[i].id >= 100 && !find_limited(devices[i].id);
	return count(__func__, n);
}

u32 mxSmlGetDeviceInfo(u32 id, struct device_info *out) {
	BEGIN(out, sizeof *out);
	DEVICE(id);
	if (find_limited(id))
		return BAD_ID;
	memset(out, 0, sizeof *out);
	out->device_id = out->gpu_id = out->node_id = id;
	out->brand = 2;
	out->mode = d->mode;
	put(__func__, out->bdf, sizeof out->bdf, d->bdf);
	put(__func__, out->uuid, sizeof out->uuid, d->uuid);
	put(__func__, out->name, sizeof out->name, d->name);
	return OK;
}

u32 mxSmlGetAllLimitedDevices(struct virtual_ids *out) {
	BEGIN(out, sizeof *out);
	for (u32 i = 0; i < n_limited && i < 128; i++)
		out->id[i] = limited[i].id;
	out->number = count(__func__, n_limited);
	return OK;
}

u32 mxSmlGetLimitedDeviceInfo(u32 id, struct device_info *out) {
	BEGIN(out, sizeof *out);
	DEVICE(id);
	if (!find_limited(id))
		return BAD_ID;
	memset(out, 0, sizeof *out);
	out->device_id = id;
	out->mode = d->mode;
	put(__func__, out->name, sizeof out->name, d->name);
	put(__func__, out->bdf, sizeof out->bdf, d->bdf);
	return OK;
}

u32 mxSmlGetVirtualDevicesByPhysicalId(u32 id, struct virtual_ids *out) {
	BEGIN(out, sizeof *out);
	DEVICE(id);
	if (d->mode != 1)
		return NOT_SUPPORTED;
	u32 n = 0;
	for (u32 i = 0; i < n_vfs; i++)
		if (vfs[i].a == id)
			out->id[n++] = vfs[i].b;
	out->number = count(__func__, n);
	return OK;
}

u32 mxSmlGetMacaVersion(char *text, u32 *size) {
	BEGIN(text, *size);
	return *maca ? put_sized(__func__, text, size, maca) : 26;
}

u32 mxSmlGetDeviceVersion(u32 id, u32 unit, char *text, u32 *size) {
	BEGIN(text, *size);
	DEVICE(id);
	switch (unit) {
	case 0:
		return put_sized(__func__, text, size, d->bios);
	case 1:
		return put_sized(__func__, text, size, driver);
	}
	return NOT_SUPPORTED;
}

u32 mxSmlGetSriovState(u32 id, u32 *out) {
	BEGIN(out, sizeof *out);
	DEVICE(id);
	*out = d->sriov;
	return OK;
}

u32 mxSmlGetBoardSerial(u32 id, char *text, u32 *size) {
	BEGIN(text, *size);
	DEVICE(id);
	if (d->mode == 2)
		return NOT_SUPPORTED;
	return put_sized(__func__, text, size, d->board);
}

u32 mxSmlGetChipSerial(u32 id, char *text, u32 *size) {
	BEGIN(text, *size);
	DEVICE(id);
	if (d->mode == 2)
		return NOT_SUPPORTED;
	return put_sized(__func__, text, size, d->chip);
}

u32 mxSmlGetMemoryInfo(u32 id, struct memory_info *out) {
	BEGIN(out, sizeof *out);
	DEVICE(id);
	if (d->mode == 1)
		return NOT_SUPPORTED;
	out->vram_total = out->vis_total = d->kib;
	out->vram_used = 1 << 20;
	out->xtt_total = 1 << 22;
	return OK;
}

u32 mxSmlGetDeviceState(u32 id, int *out) {
	BEGIN(out, sizeof *out);
	DEVICE(id);
	if (find_limited(id))
		return SYSFS;
	*out = d->state;
	return OK;
}

u32 mxSmlGetDeviceUnavailableReason(u32 id, struct unavailable *out) {
	BEGIN(out, sizeof *out);
	DEVICE(id);
	struct limited *m = find_limited(id);
	out->code = m ? m->code : d->code;
	put(__func__, out->reason, sizeof out->reason, m ? m->reason : d->reason);
	return OK;
}

u32 mxSmlGetDeviceTopology(u32 a, u32 b, u32 *out) {
	BEGIN(out, sizeof *out);
	if (!find(a) || !find(b) || find(a)->mode == 1 || find(b)->mode == 1)
		return BAD_ID;
	*out = 8;
	for (u32 i = 0; i < n_links; i++)
		if ((links[i].a == a && links[i].b == b) || (links[i].a == b && links[i].b == a))
			*out = links[i].level;
	*out = count(__func__, *out);
	return OK;
}

u32 mxSmlGetMetaXLinkState(u32 id, u32 *state, char *text, u32 *size) {
	BEGIN(text, *size);
	DEVICE(id);
	*state = d->link;
	return put_sized(__func__, text, size, d->link ? "Disabled" : "Enabled");
}

u32 mxSmlGetDeviceDieCount(u32 id, u32 *out) {
	BEGIN(out, sizeof *out);
	DEVICE(id);
	(void)d;
	*out = 1;
	return OK;
}

u32 mxSmlGetTotalEccErrors(u32 id, struct ecc_count *out) {
	BEGIN(out, sizeof *out);
	DEVICE(id);
	if (d->mode == 2)
		return NOT_SUPPORTED;
	*out = (struct ecc_count){1, 2, 3, 4, 5};
	return OK;
}

u32 mxSmlGetDeviceIpUsage(u32 id, u32 unit, int *out) {
	BEGIN(out, sizeof *out);
	DEVICE(id);
	(void)d;
	if (unit == 1 || unit == 2) {
		*out = unit;
		return OK;
	}
	if (unit != 4)
		return NOT_SUPPORTED;
	*out = count(__func__, 10 + id);
	return OK;
}

u32 mxSmlGetTemperatureInfo(u32 id, u32 sensor, int *out) {
	BEGIN(out, sizeof *out);
	DEVICE(id);
	(void)d;
	if (sensor == 3 || sensor == 15) {
		*out = 3000 + sensor;
		return OK;
	}
	if (sensor != 0)
		return NOT_SUPPORTED;
	*out = count(__func__, 4050 + 100 * id);
	return OK;
}

u32 mxSmlGetBoardPowerInfo(u32 id, u32 *size, struct electric_info *out) {
	BEGIN(out, *size * sizeof *out);
	DEVICE(id);
	(void)d;
	u32 ways = count(__func__, 3);
	if (*size < 3) {
		*size = 3;
		return TOO_SMALL;
	}
	*size = ways;
	for (u32 i = 0; i < 3; i++)
		out[i] = (struct electric_info){12000, 1000 * (i + 1), 12000 * (i + 1)};
	return OK;
}

u32 mxSmlGetBoardPowerLimit(u32 id, u32 *out) {
	BEGIN(out, sizeof *out);
	DEVICE(id);
	(void)d;
	*out = count(__func__, 350000);
	return OK;
}

u32 mxSmlGetMetaXLinkInfo(u32 id, struct link_info *out) {
	BEGIN(out, sizeof *out);
	DEVICE(id);
	if (d->mode)
		return NOT_SUPPORTED;
	for (int i = 0; i < 7; i++) {
		out->speed[i] = i < 3 ? 32 : 0;
		out->width[i] = i < 3 ? 16 : 0;
	}
	return OK;
}

u32 mxSmlGetMetaXLinkRemoteInfo(u32 id, u32 port, struct link_remote *out) {
	BEGIN(out, sizeof *out);
	DEVICE(id);
	if (d->mode)
		return NOT_SUPPORTED;
	if (port < 1 || port > 7)
		return BAD_INPUT;
	for (u32 i = 0; i < n_links; i++)
		if (links[i].level == 5 && (links[i].a == id || links[i].b == id) && --port == 0) {
			struct device *other = find(links[i].a == id ? links[i].b : links[i].a);
			out->device_id = other->id;
			put(__func__, out->bdf, sizeof out->bdf, other->bdf);
			return OK;
		}
	return NO_DEVICE;
}

/* What follows fills an array: GIVE says how many of its items there are, and how many there is room for. */
#define GIVE(n) \
	do { \
		if (*size < (n)) \
			return TOO_SMALL; \
		*size = count(__func__, n); \
	} while (0)

u32 mxSmlGetClocks(u32 id, u32 unit, u32 *size, u32 *out) {
	BEGIN(out, *size * sizeof *out);
	DEVICE(id);
	(void)d;
	GIVE(1);
	*out = 100 * unit + id;
	return OK;
}

u32 mxSmlGetCurrentClocksThrottleReason(u32 id, unsigned long long *out) {
	BEGIN(out, sizeof *out);
	DEVICE(id);
	(void)d;
	*out = 1ull << 40 | id;
	return OK;
}

u32 mxSmlGetCurrentDpmIpPerfLevel(u32 id, u32 unit, u32 *out) {
	BEGIN(out, sizeof *out);
	DEVICE(id);
	(void)d;
	*out = unit == 1 ? 7 : 99;
	return OK;
}

u32 mxSmlGetPcieInfo(u32 id, struct pcie_info *out) {
	BEGIN(out, sizeof *out);
	DEVICE(id);
	(void)d;
	*out = (struct pcie_info){16, 8};
	return OK;
}

u32 mxSmlGetPcieMaxLinkInfo(u32 id, struct pcie_info *out) {
	BEGIN(out, sizeof *out);
	DEVICE(id);
	(void)d;
	*out = (struct pcie_info){32, 16};
	return OK;
}

u32 mxSmlGetPcieThroughput(u32 id, struct throughput *out) {
	BEGIN(out, sizeof *out);
	DEVICE(id);
	(void)d;
	*out = (struct throughput){21, 22};
	return OK;
}

u32 mxSmlGetEthThroughput(u32 id, struct throughput *out) {
	BEGIN(out, sizeof *out);
	DEVICE(id);
	(void)d;
	*out = (struct throughput){31, 32};
	return OK;
}

u32 mxSmlGetMetaXLinkBandwidth(u32 id, u32 kind, u32 *size, struct link_bandwidth *out) {
	BEGIN(out, *size * sizeof *out);
	DEVICE(id);
	(void)d;
	GIVE(7);
	for (u32 i = 0; i < 7; i++)
		out[i] = (struct link_bandwidth){100 * kind + i + 1, 9999};
	return OK;
}

u32 mxSmlGetMetaXLinkTrafficStat(u32 id, u32 kind, u32 *size, struct link_traffic *out) {
	BEGIN(out, *size * sizeof *out);
	DEVICE(id);
	(void)d;
	GIVE(7);
	for (u32 i = 0; i < 7; i++)
		out[i] = (struct link_traffic){((long)kind + 1) << 40 | i, 9999};
	return OK;
}

u32 mxSmlGetMetaXLinkAer(u32 id, u32 *size, struct link_aer *out) {
	BEGIN(out, *size * sizeof *out);
	DEVICE(id);
	(void)d;
	GIVE(7);
	for (u32 i = 0; i < 7; i++)
		out[i] = (struct link_aer){i, 10 * i};
	return OK;
}

u32 mxSmlGetMetaXLinkTopo(u32 id, struct link_topo *out) {
	BEGIN(out, sizeof *out);
	DEVICE(id);
	(void)d;
	*out = (struct link_topo){4, id, 0};
	return OK;
}

u32 mxSmlGetRasErrorData(u32 id, struct ras_errors *out) {
	BEGIN(out, sizeof *out);
	DEVICE(id);
	(void)d;
	out->reg[0] = (struct ras_error){0, 3, 1, 2};
	out->reg[1] = (struct ras_error){47, 0, 0, 0};
	out->size = count(__func__, 2);
	return OK;
}

u32 mxSmlGetRasStatusData(u32 id, struct ras_status *out) {
	BEGIN(out, sizeof *out);
	DEVICE(id);
	(void)d;
	out->reg[0] = (struct ras_register){6, 1, 255};
	out->size = count(__func__, 1);
	return OK;
}

u32 mxSmlGetPciEventInfo(u32 id, u32 kind, struct pci_event *out, u32 *size) {
	BEGIN(out, *size * sizeof *out);
	DEVICE(id);
	(void)d;
	GIVE(1);
	out->bit = 0;
	out->count = 50 + kind;
	put(__func__, out->name, sizeof out->name, kind ? "event" : "surprise down");
	return OK;
}

u32 mxSmlGetOpticalModuleStatus(u32 id, struct optical_module *out, u32 *size) {
	BEGIN(out, *size * sizeof *out);
	DEVICE(id);
	(void)d;
	GIVE(1);
	out->temperature = 5150;
	return OK;
}

u32 mxSmlGetSgpuUsage(u32 id, u32 index, int *out) {
	BEGIN(out, sizeof *out);
	SLICE(id, index);
	*out = 1250;
	return OK;
}

u32 mxSmlGetSgpuToggle(u32 id, u32 *out) {
	BEGIN(out, sizeof *out);
	DEVICE(id);
	*out = d->toggle;
	return OK;
}

u32 mxSmlSetSgpuToggle(u32 id, u32 on) {
	BEGIN(NULL, 0);
	DEVICE(id);
	for (u32 i = 0; i < n_slices; i++)
		if (slices[i].device == id)
			return 23;
	if (d->mode)
		return NOT_SUPPORTED;
	d->toggle = on;
	save();
	return OK;
}

u32 mxSmlGetSgpuCount(u32 id) {
	u32 n = 0;
	begin(__func__, NULL, 0);
	for (u32 i = 0; i < n_slices; i++)
		n += slices[i].device == id;
	return count(__func__, n);
}

u32 mxSmlGetSgpuInfo(u32 id, u32 index, struct sgpu_info *out) {
	BEGIN(out, sizeof *out);
	SLICE(id, index);
	memset(out, 0, sizeof *out);
	out->parent = id;
	out->id = index;
	out->vram_quota = s->mib;
	out->compute_quota = s->compute;
	out->minor = index;
	put(__func__, out->uuid, sizeof out->uuid, s->uuid);
	return OK;
}

u32 mxSmlGetSgpuAlias(u32 id, u32 index, char *text, u32 *size) {
	BEGIN(text, *size);
	SLICE(id, index);
	return put_sized(__func__, text, size, s->alias);
}

u32 mxSmlGetSgpuMemory(u32 id, u32 index, struct sgpu_memory *out) {
	BEGIN(out, sizeof *out);
	SLICE(id, index);
	out->total = out->free = (long)s->mib << 20;
	return OK;
}

u32 mxSmlGetDeviceSchedClass(u32 id, u32 *out) {
	BEGIN(out, sizeof *out);
	DEVICE(id);
	*out = d->class;
	return OK;
}

u32 mxSmlSetDeviceSchedClass(u32 id, u32 class) {
	BEGIN(NULL, 0);
	DEVICE(id);
	if (class > 2)
		return BAD_INPUT;
	d->class = class;
	save();
	return OK;
}

u32 mxSmlCreateSgpu(u32 id, u32 mib, u32 compute, u32 *out) {
	BEGIN(out, sizeof *out);
	DEVICE(id);
	u32 index = 0, used_mib = 0, used_compute = 0;
	while (index < 16 && find_slice(id, index))
		index++;
	for (u32 i = 0; i < n_slices; i++)
		if (slices[i].device == id) {
			used_mib += slices[i].mib;
			used_compute += slices[i].compute;
		}
	if (!d->toggle)
		return NOT_SUPPORTED;
	if (index == 16 || mib % 128 || used_mib + mib > d->kib / 1024 || used_compute + compute > 100)
		return 5;
	struct slice *s = &slices[n_slices++];
	*s = (struct slice){.device = id, .index = index, .compute = compute, .mib = mib};
	snprintf(s->uuid, sizeof s->uuid, "%.40s-%u", d->uuid, index);
	*out = count(__func__, index);
	save();
	return OK;
}

u32 mxSmlRemoveSgpu(u32 id, u32 index) {
	BEGIN(NULL, 0);
	SLICE(id, index);
	*s = slices[--n_slices];
	save();
	return OK;
}

u32 mxSmlSetSgpuAlias(u32 id, u32 index, const char *text) {
	BEGIN(NULL, 0);
	SLICE(id, index);
	snprintf(s->alias, sizeof s->alias, "%s", text);
	save();
	return OK;
}
