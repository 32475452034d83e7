package topology

import "github.com/metax-ctk/container-toolkit/internal/gpu"

// LostLink is a MetaXLink that two GPUs should have and do not have.
type LostLink struct {
	// GPUs are their indices, ascending.
	GPUs [2]int `json:"gpus"`
	// State is LinkDown or LinkMissing.
	State string `json:"state"`
}

// The states of a LostLink.
const (
	LinkDown    = "down"    // the node states it as down
	LinkMissing = "missing" // one of the few that a domain lacks for a full mesh
)

// LostLinks are the lost MetaXLinks of a node, as its pictures show them: those that are
// down first, each state in the order of GPUs.
type LostLinks []LostLink

// Lost returns the node's lost MetaXLinks.
func Lost(node gpu.Node) LostLinks {
	s, err := View{Node: node}.check()
	if err != nil {
		return nil // does not happen: nothing is marked
	}
	return s.lost()
}

func (s *checkedView) lost() (all LostLinks) {
	for _, pair := range s.down {
		all = append(all, LostLink{pair, LinkDown})
	}
	for _, pair := range s.missing {
		all = append(all, LostLink{pair, LinkMissing})
	}
	return all
}

// Lines names the links for people, such as "MetaXLink down: 1-2", in one line for each
// state.
func (l LostLinks) Lines() (lines []string) {
	for _, state := range []string{LinkDown, LinkMissing} {
		var of [][2]int
		for _, link := range l {
			if link.State == state {
				of = append(of, link.GPUs)
			}
		}
		if len(of) > 0 {
			lines = append(lines, "MetaXLink "+state+": "+pairs(of))
		}
	}
	return lines
}
