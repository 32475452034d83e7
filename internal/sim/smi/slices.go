// SPDX-License-Identifier: Apache-2.0

package smi

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
)

// change is a call of "mx-smi sgpu". It changes the files by which the host tree shows slices,
// which is not how a driver works: there, writing to one of them would do it.
type change struct {
	*tool
	action, target, id, class, alias string
	vram, compute, copies            string
	gpu                              GPU
	dir                              string // of the GPU's PCI function
}

// runSliceCommand is the subcommand sgpu.
func (t *tool) runSliceCommand(args []string) error {
	c := change{tool: t, vram: "4G", compute: "5", copies: "1"}
	if err := c.parse(args); err != nil {
		return err
	}
	for i, g := range t.seen {
		if c.target == strconv.Itoa(i) || c.target == g.UUID || c.target == g.BDF {
			c.gpu, c.dir = g, t.deviceDir(g)
		}
	}
	if c.dir == "" {
		return fmt.Errorf("no GPU %s: name one by -i INDEX, UUID or BDF", c.target)
	}
	if readFirstLine(c.dir+"/model") != "sgpu" && c.action != "--enable" {
		return errors.New("the GPU is not in slice mode (sgpu --enable)")
	}
	switch c.action {
	case "--enable":
		return c.enable()
	case "--disable":
		return c.disable()
	case "--create":
		return c.create()
	case "--remove":
		return c.remove()
	case "--set-sched-class":
		return c.setClass()
	}
	return errors.New("sgpu: say what to do")
}

func (c *change) parse(args []string) error {
	for i := 0; i < len(args); i++ {
		into := map[string]*string{
			"-r": &c.id, "--remove": &c.id, "--set-sched-class": &c.class, "-i": &c.target,
			"--vram": &c.vram, "--compute": &c.compute, "--alias": &c.alias, "-n": &c.copies,
		}[args[i]]
		option := args[i]
		switch {
		case option == "--enable" || option == "--disable" || option == "--create":
			c.action = option
		case into == nil:
			return fmt.Errorf("unknown command or option: sgpu %s (mx-smi --help lists those that are simulated)",
				strings.Join(args, " "))
		case i+1 == len(args):
			return fmt.Errorf("%s needs a value", option)
		default:
			switch i++; into {
			case &c.id:
				c.action = "--remove"
			case &c.class:
				c.action = option
			}
			*into = args[i]
		}
	}
	return nil
}

func (c *change) enable() error {
	if n := readFirstLine(c.dir + "/sriov_numvfs"); n != "" && n != "0" {
		return errors.New("the GPU has virtual functions")
	}
	if err := put(c.dir+"/model", "sgpu"); err != nil {
		return err
	}
	if _, err := os.Stat(c.dir + "/sgpu"); err == nil {
		return nil
	}
	if os.Mkdir(c.dir+"/sgpu", 0o755) != nil { //nolint:gosec // G301: as in sysfs, every user reads it
		return fmt.Errorf("sysfs error: %s/sgpu cannot be made", c.dir)
	}
	memory := strconv.Itoa(c.gpu.MemoryMiB)
	return c.put("sgpu", "sched_class", "0", "sched_timeslice", "20", "create", "", "remove", "",
		"available_devcnt", "16", "available_sched_quota", "100", "available_vram_quota", memory, "total_vram_quota", memory)
}

func (c *change) disable() error {
	if len(c.sliceNumbers(c.gpu)) > 0 {
		return errors.New("the GPU has slices")
	}
	if err := put(c.dir+"/model", "native"); err != nil {
		return err
	}
	return drop(c.dir + "/sgpu")
}

// size is a number of an option. It has at most six digits.
func size(text, what string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || len(text) > 6 {
		return 0, fmt.Errorf("%s %s is not a number", what, text)
	}
	return int(n), nil
}

func (c *change) create() error {
	text, unit := strings.CutSuffix(c.vram, "M")
	mib, err := size(strings.TrimSuffix(text, "G"), "memory size")
	if !unit {
		mib *= 1024
	}
	compute, err2 := size(c.compute, "compute share")
	copies, err3 := size(c.copies, "number of slices")
	if err := errors.Join(err, err2, err3); err != nil {
		return err
	}
	left := func(name string) int { return c.number("sgpu/available_" + name) }
	switch {
	case mib == 0 || compute == 0 || compute > 100:
		return errors.New("a size is out of range")
	case copies > left("devcnt"):
		return errors.New("no more slices fit the GPU")
	case mib*copies > left("vram_quota"):
		return fmt.Errorf("no %d MiB of memory are left", mib)
	case readFirstLine(c.dir+"/sgpu/sched_class") == "1" && compute*copies > left("sched_quota"):
		return fmt.Errorf("no %d percent of compute are left", compute)
	}
	for k := 0; copies > 0; k++ {
		part := fmt.Sprintf("sgpu/sgpu%d", k)
		if _, err := os.Stat(c.dir + "/" + part); err == nil {
			continue
		}
		if os.Mkdir(c.dir+"/"+part, 0o755) != nil { //nolint:gosec // G301: as in sysfs, every user reads it
			return fmt.Errorf("sysfs error: %s/%s cannot be made", c.dir, part)
		}
		err := c.makeNode(part, mib)
		if err == nil {
			err = c.put(part, "alias", c.alias, "vram_quota", strconv.Itoa(mib), "sched_quota", strconv.Itoa(compute),
				"sched_priority", "0",
				"minor", strconv.Itoa(k), "online", "1")
		}
		if err == nil {
			err = c.count(-1, -mib, -compute)
		}
		if err != nil {
			return err
		}
		c.printLine("SGPU#%d created", k)
		copies--
	}
	return nil
}

// makeNode makes the layout node of a slice, which has its UUID. A tree without a layout has
// it beside the slice.
func (c *change) makeNode(part string, mib int) error {
	id, nodes := readFirstLine("/proc/sys/kernel/random/uuid"), c.root+layout
	if _, err := os.Stat(nodes); err != nil {
		return c.put(part, "unique_id", "GPU-"+id)
	}
	number := 8192
	for _, err := os.Stat(nodes + strconv.Itoa(number)); err == nil; _, err = os.Stat(nodes + strconv.Itoa(number)) {
		number++
	}
	node, use := nodes+strconv.Itoa(number), "smi/"+path.Base(part)
	if os.Mkdir(node, 0o755) != nil || os.Mkdir(c.dir+"/"+use, 0o755) != nil { //nolint:gosec // G301: as in sysfs
		return fmt.Errorf("sysfs error: %s cannot be made", node)
	}
	group, kib := strconv.Itoa(10000+number), mib*1024
	return errors.Join(
		puts(node, "gid", group, "type", "sgpu-sub-dev", "location", c.gpu.BDF, "unique_id", id, "active", "1",
			"local_id", strings.TrimPrefix(path.Base(part), "sgpu")),
		c.put(part, "node_id", strconv.Itoa(number), "gpu_id", group),
		c.put(use, "meminfo", fmt.Sprintf("total %d\nused 0\nfree %d", kib, kib), "utilization", "0", "overrun", "0"))
}

func (c *change) remove() error {
	if _, err := size(c.id, "sGPU"); err != nil {
		return err
	}
	part := "sgpu/sgpu" + c.id
	if info, err := os.Stat(c.dir + "/" + part); err != nil || !info.IsDir() {
		return fmt.Errorf("there is no SGPU#%s", c.id)
	}
	share, mib := c.number(part+"/sched_quota"), c.number(part+"/vram_quota")
	if node := readFirstLine(c.dir + "/" + part + "/node_id"); node != "" {
		if err := errors.Join(drop(c.root+layout+node), drop(c.dir+"/smi/sgpu"+c.id)); err != nil {
			return err
		}
	}
	if err := drop(c.dir + "/" + part); err != nil {
		return err
	}
	c.printLine("SGPU#%s removed", c.id)
	return c.count(1, mib, share)
}

func (c *change) setClass() error {
	if c.class != "0" && c.class != "1" && c.class != "2" {
		return fmt.Errorf("there is no scheduling class %s", c.class)
	}
	file := c.dir + "/sgpu/sched_class"
	if len(c.sliceNumbers(c.gpu)) > 0 && readFirstLine(file) != c.class {
		return errors.New("the GPU has slices of another class")
	}
	return put(file, c.class)
}

// number is that of a file of the GPU, 0 without one.
func (c *change) number(file string) int {
	n, _ := strconv.Atoi(readFirstLine(c.dir + "/" + file))
	return n
}

// count adds to what is left of the GPU.
func (c *change) count(slices, mib, compute int) error {
	var err error
	for name, n := range map[string]int{"devcnt": slices, "vram_quota": mib, "sched_quota": compute} {
		file := "sgpu/available_" + name
		err = errors.Join(err, put(c.dir+"/"+file, strconv.Itoa(c.number(file)+n)))
	}
	return err
}

// put writes files of a directory of the GPU: each with its name and its line.
func (c *change) put(dir string, files ...string) error { return puts(c.dir+"/"+dir, files...) }

func puts(dir string, files ...string) (err error) {
	for i := 0; i < len(files); i += 2 {
		err = errors.Join(err, put(dir+"/"+files[i], files[i+1]))
	}
	return err
}

func put(file, line string) error {
	if os.WriteFile(file, []byte(line+"\n"), 0o644) != nil { //nolint:gosec // G306: as in sysfs, every user reads it
		return fmt.Errorf("sysfs error: %s cannot be written", file)
	}
	return nil
}

func drop(dir string) error {
	if os.RemoveAll(dir) != nil {
		return fmt.Errorf("sysfs error: %s cannot be removed", dir)
	}
	return nil
}
