// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// Files reads the files of a host; *hostfs.Root is one.
type Files interface {
	ReadFile(name string) ([]byte, error)
	ReadDir(name string) (names []string, err error)
}

// classDirs are where the driver's class may be. As in the vendor's library, the second counts
// only if there is no first.
var classDirs = []string{"/sys/class/metax/mxcd", "/sys/class/mxcd/mxcd"}

// The files of a node that are read, and its directories of links, with the file in each of
// them. The IDFile is a UUID without its UUIDPrefix.
var (
	NodeFiles = []string{"location", "type", IDFile, "active", "inactive_reason"}
	LinkDirs  = []string{"indirect_links", "direct_links"} // a row of the second counts before one of the first
)

// See NodeFiles.
const (
	IDFile     = "unique_id"
	LinkFile   = "properties"
	UUIDPrefix = "GPU-"
)

// Layout is what the driver's files say. The zero Layout is that of a driver without them.
type Layout struct {
	// GPUs are the GPUs and virtual functions, by address.
	GPUs map[gpu.BDF]GPU
	// Unread is why the first of the nodes could not be read whose address is therefore
	// unknown; nil if there is none. Any GPU may be in one of them.
	Unread error
	// Late is an ErrLate if a file did not answer; then nothing was read after it.
	Late error
	// Warnings are one line each about what is contradictory or not understood.
	Warnings []string
}

// GPU is what the driver's files say about one function.
type GPU struct {
	// UUID is empty if it is unknown.
	UUID gpu.UUID
	// State is the driver's verdict; Code and Reason are its number and words for the reason
	// of an Unavailable GPU, 0 and "" if there are none.
	State  State
	Code   int
	Reason string

	links map[gpu.BDF]row // nil if not all could be read
}

// LinkKind returns the kind of the link between two GPUs; ok is false if the driver's files
// say nothing about it that is understood. A pair without a row, of GPUs that have rows for
// others, has a link that is of no use: its kind is Unknown, and ok. Of two rows that differ,
// the weaker counts.
func (l Layout) LinkKind(a, b gpu.BDF) (kind topology.Kind, ok bool) {
	from, to := l.GPUs[a].links, l.GPUs[b].links
	link, there := from[b]
	back, returns := to[a]
	if there || returns {
		link = weakerRow(link, back)
		return link.kind, link.known
	}
	return topology.Unknown, len(from) > 0 && len(to) > 0
}

// node is one directory of layout/nodes.
type node struct {
	number int
	dir    string
	bdf    gpu.BDF
	GPU
}

type reader struct {
	*bounded
	out Layout
}

// Read reads the layout, without the links unless they are wanted. It never fails: what cannot
// be read is unknown. Files that this user may not read are not worth a warning.
func Read(files Files, links bool) Layout {
	r := reader{bounded: newBounded(files)}
	defer r.close()
	nodes := r.nodes()
	r.out.GPUs = make(map[gpu.BDF]GPU, len(nodes))
	r.dropShared(nodes)
	if links {
		r.readLinks(nodes)
	}
	for _, n := range nodes {
		if was, twice := r.out.GPUs[n.bdf]; twice && was.State > n.State {
			n.GPU = was // both have neither UUID nor links
		}
		r.out.GPUs[n.bdf] = n.GPU
	}
	if r.late != nil {
		r.out.Late = r.late
		r.warn("%v; what was not read comes from the next source", r.late)
	}
	return r.out
}

func (r *reader) warn(format string, a ...any) {
	r.out.Warnings = append(r.out.Warnings, fmt.Sprintf("the driver's layout: "+format, a...))
}

// nodes reads the nodes that are GPUs, in the order of their numbers. The number of a node has
// 16 bits, as in a link.
func (r *reader) nodes() (nodes []node) {
	var dir string
	var names []string
	var err error
	list := func() {
		if dir, names, err = listNodes(r.readDir); err == nil {
			r.openNodes(dir)
		}
	}
	if r.readInTime(list) != nil {
		return nil
	}
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			r.out.Unread = err
			r.warnUnread(err)
		}
		return nil
	}
	for _, name := range names {
		if number, err := strconv.ParseUint(name, 10, 16); err == nil && name == strconv.FormatUint(number, 10) {
			nodes = append(nodes, node{number: int(number), dir: path.Join(dir, name)})
		}
	}
	slices.SortFunc(nodes, func(a, b node) int { return a.number - b.number })
	gpus := nodes[:0]
	for _, n := range nodes {
		var isGPU bool
		var problems []error
		if r.readInTime(func() { isGPU, problems = r.node(&n) }) != nil {
			r.out.Unread = r.late
			break
		}
		for _, err := range problems {
			r.warnUnread(err)
		}
		if isGPU {
			gpus = append(gpus, n)
		} else if len(problems) > 0 && r.out.Unread == nil {
			r.out.Unread = problems[0]
		}
	}
	return gpus
}

// warnUnread warns of a file that could not be read or understood.
func (r *reader) warnUnread(err error) {
	if !errors.Is(err, fs.ErrPermission) {
		r.warn("%v", err)
	}
}

// nodesDir is the directory of the nodes in that of the class.
const nodesDir = "/layout/nodes"

// Dir returns the directory of the nodes; ok is false without one.
func Dir(files Files) (dir string, ok bool) {
	dir, _, err := listNodes(files.ReadDir)
	return dir, err == nil
}

// listNodes returns the directory of the nodes and the names in it.
func listNodes(readDir func(string) ([]string, error)) (dir string, names []string, err error) {
	for _, class := range classDirs {
		if _, err = readDir(class); err == nil {
			dir = class + nodesDir
			names, err = readDir(dir)
			return dir, names, err
		} else if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return "", nil, err
}

// node reads one node. It is not a GPU if it is a processor or a slice, has no address, or its
// address could not be read, which is a problem then.
func (r *reader) node(n *node) (isGPU bool, problems []error) {
	text, err := r.readFile(n.dir + "/location")
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, []error{err}
	}
	kind, err := r.optional(n.dir + "/type")
	if err != nil {
		return false, []error{err}
	}
	if kind = firstLine(kind); kind == cpuType || kind == sliceType {
		return false, nil
	}
	if n.bdf, err = parseLocation(text); err != nil {
		return false, []error{fmt.Errorf("%s/location: %w", n.dir, err)}
	}
	note := func(name string, parse func(text string) error) {
		text, err := r.optional(n.dir + "/" + name)
		if err == nil && text != "" {
			if err = parse(text); err != nil {
				err = fmt.Errorf("%s/%s: %w", n.dir, name, err)
			}
		}
		if err != nil {
			problems = append(problems, err)
		}
	}
	note(IDFile, func(text string) (err error) { n.UUID, err = parseUUID(text); return err })
	note("active", func(text string) (err error) { n.State, err = parseActive(text); return err })
	if n.State == Unavailable {
		note("inactive_reason", func(text string) error { n.Code, n.Reason = parseReason(text); return nil })
	}
	return true, problems
}

// optional returns the text of a file, empty if there is none.
func (r *reader) optional(name string) (string, error) {
	text, err := r.readFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return text, err
}

// dropShared clears the UUIDs that two GPUs have, and makes the rest of two nodes unknown that
// have the same address: which of them is right cannot be known. Such an address keeps the
// worse of the two states.
func (r *reader) dropShared(nodes []node) {
	byUUID, byBDF := map[string][]*node{}, map[gpu.BDF][]*node{}
	for i := range nodes {
		n := &nodes[i]
		byBDF[n.bdf] = append(byBDF[n.bdf], n)
		if key := strings.ToLower(string(n.UUID)); key != "" {
			byUUID[key] = append(byUUID[key], n)
		}
	}
	for i := range nodes { // in the order of numbers
		n := &nodes[i]
		if same := byBDF[n.bdf]; len(same) > 1 {
			if same[0] == n {
				r.warn("nodes %d and %d both have the address %s; UUID and links of this GPU come from the next source", n.number,
					same[1].number, n.bdf)
			}
			n.UUID, n.links = "", nil
			continue
		}
		if same := byUUID[strings.ToLower(string(n.UUID))]; len(same) > 1 {
			if same[0] == n {
				r.warn("ignored the UUID %s: GPUs %s and %s both have it", n.UUID, n.bdf, same[1].bdf)
			}
			n.UUID = ""
		}
	}
}
