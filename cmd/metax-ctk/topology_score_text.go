package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// text says the score for one number of GPUs in words.
func (s scoredSize) text() string {
	return columns([][]string{
		{"best answer:", fmt.Sprintf("%s %s", nouned(s.N), wording.List(s.GPUs))},
		{"link class:", s.class()},
		{"free before:", fmt.Sprintf("%s, %s", wording.Count(s.Free, "GPU"), roomFor(s.Before))},
		{"free after:", fmt.Sprintf("%s, %s", wording.Count(s.Free-s.N, "GPU"), roomFor(s.After))},
		{"later jobs lose:", s.loss()},
	})
}

func nouned(n int) string {
	if n == 1 {
		return "GPU"
	}
	return "GPUs"
}

// class says what the link class means for the job.
func (s scoredSize) class() string {
	switch {
	case s.N == 1:
		return "a single GPU needs no link"
	case s.N == 2:
		return fmt.Sprintf("%v: they are linked by %s", s.Class, linkedBy(s.Class))
	}
	return fmt.Sprintf("%v: a ring over them runs on %s", s.Class, linkedBy(s.Class))
}

func linkedBy(class topology.Kind) string {
	if class == topology.Unknown {
		return "links that are not known"
	}
	return class.Meaning()
}

// loss is what the answer takes of the room.
func (s scoredSize) loss() string {
	for _, c := range s.Loss {
		if c.Sets > 0 {
			return roomFor(s.Loss)
		}
	}
	return "nothing"
}

// roomFor says how many jobs have room, class by class, the largest first.
func roomFor(counts []alloc.Count) string {
	var classes []string
	for i := 0; i < len(counts); {
		class := counts[i].Class
		var jobs []string
		for ; i < len(counts) && counts[i].Class == class; i++ {
			if c := counts[i]; c.Sets > 0 && len(jobs) == 0 {
				jobs = append(jobs, fmt.Sprintf("%s of %d", wording.Count(c.Sets, "job"), c.Size))
			} else if c.Sets > 0 {
				jobs = append(jobs, fmt.Sprintf("%d of %d", c.Sets, c.Size))
			}
		}
		if len(jobs) > 0 {
			classes = append(classes, strings.Join(jobs, " or ")+" on "+class.String())
		}
	}
	if len(classes) == 0 {
		return "no room for linked jobs"
	}
	return "room for " + strings.Join(classes, "; ")
}

// table shows the scores for all numbers.
func (s scoredNode) table() string {
	rows := [][]string{{"N", "GPUS", "CLASS", "LEFT FOR LATER JOBS"}}
	for _, z := range s.Sizes {
		rows = append(rows, []string{strconv.Itoa(z.N), wording.List(z.GPUs), z.Class.String(), roomFor(z.After)})
	}
	return columns(rows)
}
