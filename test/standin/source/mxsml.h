// SPDX-License-Identifier: Apache-2.0

/* The part of libmxsml's interface that the stand-in has: names and layout as
 * published by the vendor, written down anew. */
#ifndef MXSML_STANDIN_H
#define MXSML_STANDIN_H

typedef unsigned int u32;

struct device_info {
	u32 device_id;
	u32 kind;
	char bdf[32];
	u32 gpu_id;
	u32 node_id;
	char uuid[96];
	u32 brand;
	u32 mode;
	char name[32];
};

struct virtual_ids {
	int number;
	int id[128];
};

struct memory_info {
	long vis_total, vis_used, vram_total, vram_used, xtt_total, xtt_used;
};

struct link_info {
	float speed[7];
	u32 width[7];
};

struct link_remote {
	int device_id;
	char bdf[32];
};

struct sgpu_info {
	u32 parent;
	u32 id;
	u32 vram_quota;
	u32 software_priority;
	u32 compute_quota;
	u32 minor;
	u32 queue_priority;
	char uuid[96];
};

struct sgpu_memory {
	long total, used, free;
};

struct ecc_count {
	u32 sram_ce, sram_ue, dram_ce, dram_ue, retired;
};

struct electric_info {
	u32 voltage, current, power;
};

struct pcie_info {
	float speed;
	u32 width;
};

struct throughput {
	int rx, tx;
};

struct link_bandwidth {
	int request, response;
};

struct link_traffic {
	long request, response;
};

struct link_aer {
	int ce, ue;
};

struct link_topo {
	u32 topology_id, socket_id, die_id;
};

struct optical_module {
	int temperature;
	u32 voltage, module_state, path_state, rx_state[2], version[2];
};

struct pci_event {
	int bit;
	u32 count;
	char first[20];
	char name[64];
};

struct ras_error {
	u32 unit, index;
	int ue, ce;
};

struct ras_errors {
	struct ras_error reg[128];
	int size;
};

struct ras_register {
	u32 unit, index;
	int data;
};

struct ras_status {
	struct ras_register reg[128];
	int size;
};

struct unavailable {
	int code;
	char reason[64];
};

#endif
