// SPDX-License-Identifier: Apache-2.0

package kmsg

import (
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lazyregexp"
)

// Message is what the driver says about a GPU.
type Message struct {
	BDF           gpu.BDF
	Module, Level string // Level is ERROR or ALERT
	// EID is the vendor's number of the error, 0 without one. MetaX publishes no list of them.
	EID  uint32
	Text string // printable, at most maxText bytes
	Time uint64 // microseconds of the kernel's clock since the boot
}

// form is the whole form of a message: module of the kernel, address, die, virtual function,
// module of the driver, level, text. The address is domain, bus, device and function in one
// number. The name of a process has at most 15 characters, which are too few for it.
// Programs that read no log do not compile it.
var form = lazyregexp.New(`^(?:METAX|MXGVM|MXCD)\.B([0-9A-F]{3,8})\.(?:D[0-9]\.)?(?:V[0-9]{1,4}\.)?([A-Z]{1,20})\.(ERROR|ALERT) (.+)$`)

// eid is the form of a text that has a number.
var eid = lazyregexp.New(`^EID \(([0-9a-fA-F:.]{7,16})\): 0x([0-9a-fA-F]{1,8}), (.+)$`)

const maxText = 64

// Parse parses a record of /dev/kmsg: "PRIORITY,SEQUENCE,MICROSECONDS,FLAGS[,…];MESSAGE", and
// lines about its device, which begin with a blank. ok is false for a record that is not a
// message of the driver; the sequence is there for every record of that form.
func Parse(record string) (sequence uint64, m Message, ok bool) {
	head, text, _ := strings.Cut(record, ";")
	fields := strings.Split(head, ",")
	if len(fields) < 4 {
		return 0, Message{}, false
	}
	priority, err := strconv.ParseUint(fields[0], 10, 16)
	sequence, err2 := strconv.ParseUint(fields[1], 10, 64)
	logged, err3 := strconv.ParseUint(fields[2], 10, 64)
	if err != nil || err2 != nil || err3 != nil {
		return 0, Message{}, false
	}
	text, _, _ = strings.Cut(text, "\n")
	found := form().FindStringSubmatch(text)
	if found == nil || priority>>3 != 0 { // 0 is the kernel's facility, which it grants to no one else
		return sequence, Message{}, false
	}
	address, err := strconv.ParseUint(found[1], 16, 32)
	if err != nil {
		return sequence, Message{}, false
	}
	m = Message{
		BDF: gpu.BDF{
			Domain: uint32(address >> 16), Bus: uint8(address >> 8), Device: uint8(address>>3) & 0x1f,
			Function: uint8(address) & 7,
		},
		Module: found[2], Level: found[3], Text: printable(found[4]), Time: logged,
	}
	if number := eid().FindStringSubmatch(found[4]); number != nil {
		of, err := gpu.ParseBDF(number[1])
		value, err2 := strconv.ParseUint(number[2], 16, 32)
		if err != nil || err2 != nil || of != m.BDF {
			return sequence, Message{}, false
		}
		m.EID, m.Text = uint32(value), printable(number[3])
	}
	return sequence, m, true
}

// printable is the beginning of a text without what a terminal or a label cannot show.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, text)
	return strings.TrimSpace(text[:min(len(text), maxText)])
}
