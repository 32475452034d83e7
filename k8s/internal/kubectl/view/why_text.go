// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Text is the judgement in a few lines, however many Nodes there are: those of which the same
// is said are one line.
func (w Why) Text() string {
	var b strings.Builder
	p := w.Pod
	fmt.Fprintf(&b, "pod %s/%s: %s", p.Namespace, p.Name, p.State)
	if p.Node != "" {
		b.WriteString(" on " + p.Node)
	}
	switch {
	case p.GPUs > 0:
		by := "policy " + w.Policy
		if w.Weights != nil {
			by += "; nodes are ranked by " + w.Weights.String()
		}
		fmt.Fprintf(&b, "; requests %s (%s)\n", wording.Count(p.GPUs, "GPU"), by)
	case p.Slices > 0:
		fmt.Fprintf(&b, "; requests %s, for which HAMi or Koordinator chooses the GPUs\n", wording.Count(p.Slices, "slice"))
	default:
		b.WriteString("; requests no GPU\n")
	}
	if p.Message != "" {
		b.WriteString(map[bool]string{true: "the scheduler says: ", false: ""}[p.State == "pending"] +
			terminal.Line(p.Message) + "\n")
	}
	b.WriteString(w.ownText())
	if text := p.healthText(); text != "" {
		b.WriteString(text + "\n")
	}
	if len(w.Nodes) > 0 {
		b.WriteString("\n" + terminal.Table(w.rows()))
	}
	if len(w.Remedies) > 0 {
		b.WriteString("\nWhat would help:\n")
		for _, r := range w.Remedies {
			b.WriteString("- " + terminal.Line(r.Text) + "\n")
		}
	} else if p.Node == "" && p.GPUs > 0 {
		b.WriteString("\n" + w.hopeless())
	}
	if len(w.Events) > 0 {
		rows := [][]string{{"LAST", "COUNT", "EVENT", "MESSAGE"}}
		for _, e := range w.Events[max(0, len(w.Events)-mostLines):] {
			rows = append(rows, []string{e.Time, formatCount(e.Count), e.Reason, e.Message})
		}
		b.WriteString("\n" + terminal.Table(rows))
	}
	if text := firstLines(w.Notes); text != "" {
		b.WriteString("\n" + text)
	}
	return b.String()
}

func (w Why) ownText() string {
	switch {
	case w.Own == nil:
		return ""
	case w.Own.Link == "":
		return fmt.Sprintf("it has GPU %s\n", wording.Ranges(w.Own.GPUs))
	case slices.Equal(w.Own.GPUs, w.Own.Best):
		return fmt.Sprintf("it has the GPUs %s (worst link: %s), the best set of its node\n", wording.Ranges(w.Own.GPUs),
			w.Own.Link)
	case w.Own.Best == nil:
		return fmt.Sprintf("it has the GPUs %s (worst link: %s)\n", wording.Ranges(w.Own.GPUs), w.Own.Link)
	}
	return fmt.Sprintf("it has the GPUs %s (worst link: %s); the best set of its node is now %s (%s)\n",
		wording.Ranges(w.Own.GPUs), w.Own.Link, wording.Ranges(w.Own.Best), w.Own.BestLink)
}

// rows are the Nodes as rows of a table, one for all of which the same is said, the best
// first.
func (w Why) rows() [][]string {
	type kind struct {
		fits              bool
		rank, score, loss int
		by, reason, link  string
	}
	members := map[kind][]string{}
	var kinds []kind
	for _, v := range w.Nodes {
		k := kind{fits: v.Fits, rank: v.Rank, score: v.Score, loss: v.Loss, by: v.By, reason: v.Reason, link: v.Link}
		if members[k] == nil {
			kinds = append(kinds, k)
		}
		members[k] = append(members[k], v.Node)
	}
	slices.SortStableFunc(kinds, func(a, b kind) int {
		switch {
		case a.fits != b.fits:
			return map[bool]int{true: -1, false: 1}[a.fits]
		case a.rank != b.rank:
			return b.rank - a.rank
		}
		return len(members[b]) - len(members[a])
	})
	rows := [][]string{{"RANK", "NODES", "SUCH AS", "LINK", "SCORE", "LOSS", "WHY"}}
	for i, k := range kinds {
		if i == mostLines {
			rows = append(rows, []string{"", formatCount(len(kinds) - i), "", "", "", "", "more reasons: -o json has all"})
			break
		}
		row := []string{"", formatCount(len(members[k])), shortNameList(members[k]), k.link, "", "", k.reason}
		if k.fits {
			row[0] = formatCount(k.rank)
			if k.by != "counts" {
				row[4], row[5] = formatCount(k.score), formatCount(k.loss)
			}
			if k.reason == "" {
				row[6] = "fits"
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// hopeless says that no single step would make the pod fit.
func (w Why) hopeless() string {
	switch {
	case len(w.Nodes) == 0:
		return "no node of this cluster has MetaX GPUs\n"
	case w.Pod.GPUs > w.largest:
		return fmt.Sprintf("no node has so many GPUs: the largest has %d; request fewer for each pod\n", w.largest)
	}
	return "no single step would make it fit (kubectl metax top node)\n"
}
