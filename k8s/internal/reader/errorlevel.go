// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/metax-ctk/container-toolkit/internal/discover/kmsg"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// ErrorLevel is how serious an administrator takes an error of the driver in the kernel's log.
// Without one it is a note, because no list of these errors is published.
type ErrorLevel struct {
	Module string
	EID    uint32
	// Code is that of the problem which a GPU with the error has: protocol.LoggedCode or
	// protocol.LoggedFatalCode.
	Code string
}

// levelCodes are the codes of the levels, by their names.
var levelCodes = map[string]string{
	"note": "", "no-new-pods": protocol.LoggedCode,
	"jobs-in-danger": protocol.LoggedFatalCode,
}

var errorLevel = regexp.MustCompile(`^([A-Z0-9_]+):(0x[0-9a-fA-F]{1,8}|[0-9]{1,10})=([a-z-]+)$`)

// ParseErrorLevel reads MODULE:EID=LEVEL.
func ParseErrorLevel(text string) (ErrorLevel, error) {
	if found := errorLevel.FindStringSubmatch(text); found != nil {
		eid, err := strconv.ParseUint(found[2], 0, 32)
		if code, ok := levelCodes[found[3]]; ok && err == nil && eid > 0 {
			return ErrorLevel{found[1], uint32(eid), code}, nil
		}
	}
	return ErrorLevel{}, fmt.Errorf(
		"%q is no level of an error: want MODULE:EID=LEVEL, such as SMI:0x2202=no-new-pods, with the level note, no-new-pods or jobs-in-danger", text)
}

// Serious is an error of a GPU that an administrator takes for more than a note. It lasts
// until the next boot.
type Serious struct {
	BDF  gpu.BDF `json:"bdf"`
	EID  uint32  `json:"eid"`
	From string  `json:"module"`
	Text string  `json:"text"`
}

// codeOf returns the code of an error, "" for a note.
func (k *KernelLog) codeOf(s Serious) string {
	at := slices.IndexFunc(k.levels, func(l ErrorLevel) bool { return l.Module == s.From && l.EID == s.EID })
	if at < 0 {
		return ""
	}
	return k.levels[at].Code
}

// keepSerious keeps a message that is more than a note, once for each GPU, module and EID.
// known are the GPUs of the node.
func (k *KernelLog) keepSerious(m kmsg.Message, known []gpu.GPU) {
	at := slices.IndexFunc(known, func(g gpu.GPU) bool { return g.BDF == m.BDF || slices.Contains(g.VFs, m.BDF) })
	s := Serious{EID: m.EID, From: m.Module, Text: m.Text}
	if at < 0 || k.codeOf(s) == "" {
		return
	}
	s.BDF = known[at].BDF
	if !slices.ContainsFunc(k.counts.Serious,
		func(o Serious) bool { return o.BDF == s.BDF && o.EID == s.EID && o.From == s.From }) {
		k.counts.Serious = append(k.counts.Serious, s)
	}
}

// Judge returns a look with a problem for each GPU of which the driver has logged more than a
// note in this boot, the worst one.
func (k *KernelLog) Judge(look health.Look) health.Look {
	k.mu.Lock()
	defer k.mu.Unlock()
	look.Readings = slices.Clone(look.Readings)
	for i, r := range look.Readings {
		var worst health.Problem
		for _, s := range k.counts.Serious {
			code := k.codeOf(s)
			if s.BDF == r.BDF && code != "" &&
				(worst.Code == "" || (worst.Code == protocol.LoggedCode && code == protocol.LoggedFatalCode)) {
				worst = health.Problem{Code: code, Text: fmt.Sprintf("the driver has logged %s 0x%x: %s", s.From, s.EID, s.Text)}
			}
		}
		if worst.Code != "" {
			look.Readings[i].Problems = append(slices.Clip(r.Problems), worst)
		}
	}
	return look
}
