// SPDX-License-Identifier: Apache-2.0

package smi

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	version   = "2.2.9"
	timestamp = "Wed Feb 11 16:37:10 2026"
	usedMiB   = 826 // on an idle card
)

// tool is mx-smi at one call.
type tool struct {
	Facts
	root string // of the host tree, empty in a container
	out  strings.Builder
	all  []bool // whether each GPU of the host can be seen
	seen []GPU  // those that can be seen
}

// Run is mx-smi with arguments; program is its path without links. It returns what it prints.
// The error is one line.
func Run(program string, args []string) (string, error) {
	home := filepath.Dir(filepath.Dir(program))
	text, err := os.ReadFile(filepath.Join(home, FactsFile)) //nolint:gosec // G304: home is where this program is
	if err != nil {
		return "", fmt.Errorf("what it says of the node is not known: %w", err)
	}
	t := &tool{}
	if t.Facts, err = ParseFacts(string(text)); err != nil {
		return "", fmt.Errorf("%s: %w", filepath.Join(home, FactsFile), err)
	}
	t.root = rootOf(home, t.Home)
	err = t.run(args)
	return t.out.String(), err
}

// rootOf returns the host's root: what comes before the tool's own directory, so that the tool
// of a host tree looks at that tree's devices. A payload of the operator has a version behind
// the directory.
func rootOf(home, usual string) string {
	if at := strings.LastIndex(home, usual+"-"); at >= 0 && !strings.Contains(home[at+len(usual):], "/") {
		return home[:at]
	}
	root, ok := strings.CutSuffix(home, usual)
	if !ok {
		return ""
	}
	return root
}

func (t *tool) run(args []string) error {
	command := strings.Join(args, " ")
	switch command {
	case "-h", "--help":
		t.out.WriteString(usage)
		return nil
	case "-v", "--version":
		t.printLine("mx-smi  version: %s", version)
		return nil
	}
	show, ok := map[string]func(){
		"": t.table, "-L": t.list, "--list": t.list,
		"topo -m":       func() { t.NICs = nil; t.matrix() },
		"topo -n":       t.matrix,
		"--show-hwinfo": t.sections(t.hardware), "--show-memory": t.sections(t.memory), "--show-sn": t.sections(t.serial),
		"--show-version":     t.sections(t.versions),
		"--show-usage":       t.sections(func(GPU) { t.field("GPU", t.Load+" %") }),
		"--show-temperature": t.sections(func(GPU) { t.field("hotspot", "35.00 C") }),
		"--show-board-power": t.sections(func(GPU) { t.field("Total", "57.00 W") }),
	}[command]
	change := len(args) > 1 && args[0] == "sgpu"
	if !ok && !change {
		return fmt.Errorf("unknown command or option: %s (mx-smi --help lists those that are simulated)", command)
	}
	if change && t.root == "" {
		return errors.New("this tool is in no host tree, so it changes nothing")
	}
	for _, g := range t.GPUs {
		_, err := os.Stat(t.root + "/dev/dri/" + g.Render)
		t.all = append(t.all, err == nil)
		if err == nil {
			t.seen = append(t.seen, g)
		}
	}
	if len(t.seen) == 0 {
		return errors.New("no MetaX GPU can be seen: /dev/dri has none of their render nodes")
	}
	if change {
		return t.runSliceCommand(args[1:])
	}
	show()
	return nil
}

func (t *tool) printLine(format string, a ...any) { fmt.Fprintf(&t.out, format+"\n", a...) }

func (t *tool) banner() {
	t.printLine("mx-smi  version: %s\n", version)
	t.printLine("=================== MetaX System Management Interface Log ===================")
	t.printLine("Timestamp                                         : %s\n", timestamp)
	t.printLine("Attached GPUs                                     : %d", len(t.seen))
}

func (t *tool) list() {
	t.printLine("mx-smi  version: %s", version)
	for i, g := range t.seen {
		t.printLine("%-9s%-12s%-15s%s (UUID: %s)", fmt.Sprint("GPU#", i), g.Model, g.BDF, g.State, g.UUID)
		for _, id := range t.sliceNumbers(g) {
			dir := t.deviceDir(g) + "/sgpu/sgpu" + id
			uuid := readFirstLine(dir + "/unique_id")
			if node := readFirstLine(dir + "/node_id"); node != "" {
				uuid = "GPU-" + readFirstLine(t.root+layout+node+"/unique_id")
			}
			t.printLine("    %-9s(UUID: %s)", "SGPU#"+id, uuid)
		}
	}
}

// layout has a directory for each GPU and slice.
const layout = "/sys/class/mxcd/mxcd/layout/nodes/"

// deviceDir is the directory of a GPU's PCI function.
func (t *tool) deviceDir(g GPU) string { return t.root + "/sys/bus/pci/devices/" + g.BDF }

// sliceNumbers are the numbers of a GPU's slices.
func (t *tool) sliceNumbers(g GPU) (ids []string) {
	found, _ := filepath.Glob(t.deviceDir(g) + "/sgpu/sgpu*") // the pattern is valid
	for _, p := range found {
		if info, err := os.Stat(p); err == nil && info.IsDir() {
			ids = append(ids, strings.TrimPrefix(path.Base(p), "sgpu"))
		}
	}
	return ids
}

// readFirstLine is the first line of a file, empty if it cannot be read.
func readFirstLine(file string) string {
	text, err := os.ReadFile(file) //nolint:gosec // G304: in the sysfs of the simulated node, or the UUID of /proc
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(line)
}

// sections prints the fields of each GPU.
func (t *tool) sections(fields func(GPU)) func() {
	return func() {
		t.banner()
		for i, g := range t.seen {
			t.printLine("GPU#%d  %s  %s", i, g.Model, g.BDF)
			fields(g)
		}
		t.printLine("\nEnd of Log")
	}
}

// field prints a field that is known.
func (t *tool) field(name, value string) {
	if value != "" {
		t.printLine("    %-42s: %s", name, value)
	}
}

func (t *tool) serial(g GPU) { t.field("Board Serial Number", g.Serial) }

func (t *tool) hardware(g GPU) {
	t.field("Model Name", g.Model)
	switch {
	case g.MemoryMiB == 0: // not known
	case g.MemoryMiB%1024 == 0:
		t.field("Memory Capacity", strconv.Itoa(g.MemoryMiB/1024)+"GB")
	default:
		t.field("Memory Capacity", strconv.Itoa(g.MemoryMiB)+"MB")
	}
	t.serial(g)
}

func (t *tool) versions(g GPU) {
	t.field("BIOS Version", g.VBIOS)
	t.printLine("    %-42s: %s", "Driver Version", t.Driver)
}

func (t *tool) memory(g GPU) {
	t.printLine("    Memory")
	for _, name := range []string{"vis_vram", "vram"} {
		if g.MemoryMiB > 0 {
			t.field("    "+name+" total", strconv.Itoa(g.MemoryMiB*1024)+" KB")
		}
		t.field("    "+name+" used", strconv.Itoa(usedMiB*1024)+" KB")
	}
}

// cells prints those cells of a row that are of GPUs that can be seen.
func (t *tool) cells(row []string) {
	for i, cell := range row {
		if t.all[i] {
			fmt.Fprintf(&t.out, "%-8s", cell)
		}
	}
}

func (t *tool) matrix() {
	nics := func(row []string) {
		for i := range t.NICs {
			fmt.Fprintf(&t.out, "%-8s", row[i])
		}
	}
	t.banner()
	t.out.WriteString("Device link type matrix\n        ")
	for i := range t.seen {
		fmt.Fprintf(&t.out, "%-8s", fmt.Sprint("GPU", i))
	}
	for i := range t.NICs {
		fmt.Fprintf(&t.out, "%-8s", fmt.Sprint("NIC", i))
	}
	t.printLine("%-15s%s", "Node Affinity", "CPU Affinity")
	for i, g := range t.seen {
		fmt.Fprintf(&t.out, "%-8s", fmt.Sprint("GPU", i))
		t.cells(g.Cells)
		nics(g.NICCells)
		t.printLine("%-15s%s", g.NUMA, g.CPUs)
	}
	for i, n := range t.NICs {
		fmt.Fprintf(&t.out, "%-8s", fmt.Sprint("NIC", i))
		t.cells(n.Cells)
		nics(n.NICCells)
		t.printLine("")
	}
	t.printLine("\nLegend:")
	for _, m := range t.Meaning {
		t.printLine("  %-4s = %s", m[0], m[1])
	}
	if len(t.NICs) > 0 {
		t.printLine("\nNIC Legend:")
		for i, n := range t.NICs {
			t.printLine("  NIC%d: %s", i, n.Name)
		}
	}
}

// table is what the tool prints without arguments.
func (t *tool) table() {
	maca, bios := "unknown", "unknown" // one version for all cards
	for _, dir := range t.MACA {
		if line := readFirstLine(t.root + dir + "/Version.txt"); line != "" {
			maca = line[strings.LastIndexByte(line, ':')+1:]
			break
		}
	}
	if i := slices.IndexFunc(t.seen, func(g GPU) bool { return g.VBIOS != "" }); i >= 0 {
		bios = t.seen[i].VBIOS
	}
	t.banner()
	t.printLine("+---------------------------------------------------------------------------------+")
	t.printLine("| %-35s%-44s |", "MX-SMI "+version, "Kernel Mode Driver Version: "+t.Driver)
	t.printLine("| %-35s%-44s |", "MACA Version: "+maca, "BIOS Version: "+bios)
	t.out.WriteString(tableHead)
	for i, g := range t.seen {
		limit := "350W"
		switch {
		case strings.HasPrefix(g.Model, "MXC550"):
			limit = "450W"
		case strings.HasPrefix(g.Model, "MXN260"):
			limit = "225W"
		}
		sliced := "Disabled"
		if readFirstLine(t.deviceDir(g)+"/model") == "sgpu" {
			sliced = "Enabled"
		}
		t.printLine("| %-5d %10s | %-5d %9s | %-19s | %-9s %10s |", i, "MetaX "+strings.TrimPrefix(g.Model, "MX"), i, "Off",
			g.BDF, "0%", sliced)
		t.printLine("| %-16s | %-5s %9s | %-19s | %-20s |", "57W / "+limit, "35C", "P0",
			fmt.Sprintf("%d/%d MiB", usedMiB, g.MemoryMiB), g.State)
		t.printLine("+------------------+-----------------+---------------------+----------------------+")
	}
	t.out.WriteString(tableEnd)
}
