// SPDX-License-Identifier: Apache-2.0

package top

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/ps"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func number(n int) *int { return &n }

// working is a state of four GPUs: two in use, one without readings, one unhealthy.
func working() State {
	n := gpu.NewNode("host\x1b[2J")
	for i := range 4 {
		n.GPUs = append(n.GPUs, gpu.GPU{Index: i, BDF: gpu.BDF{Bus: uint8(i + 1)}, Model: "MXC500", Healthy: i != 3})
	}
	readings := []gpu.Reading{
		{BDF: n.GPUs[0].BDF, UtilizationPercent: number(0), MemoryUsedMiB: number(826), MemoryTotalMiB: number(65536), TemperatureC: number(35), PowerW: number(57), PowerLimitW: number(350), LinksUp: number(3), Measures: gpu.Measures{gpu.ClockMHz: 1500, gpu.ThrottleReasons: 0}},
		{BDF: n.GPUs[1].BDF, UtilizationPercent: number(97), MemoryTotalMiB: number(65536), PowerW: number(57), Measures: gpu.Measures{gpu.ClockMHz: 900, gpu.ThrottleReasons: 0x24}},
		{BDF: gpu.BDF{Bus: 0xff}, UtilizationPercent: number(1)},
	}
	report := lease.Report{
		Uptime: time.Hour, Now: noon,
		State: lease.State{Queue: []lease.Ticket{{ID: "eeeeeeeeeeee", Count: 4, Marked: time.Hour, Since: noon.Add(-90 * time.Second)}}},
		Holders: []usage.Holder{
			{GPUs: []gpu.BDF{n.GPUs[0].BDF}, Container: &usage.Container{ID: "c", Engine: "docker", State: usage.Running, Facts: usage.Facts{Name: "evil\x1b]0;x\a", GPUs: []gpu.BDF{n.GPUs[0].BDF}}}},
			{GPUs: []gpu.BDF{n.GPUs[1].BDF}, Processes: []usage.Process{{PID: 7, Command: "python3", GPUs: []gpu.BDF{n.GPUs[1].BDF}}, {PID: 8, Command: "sh", GPUs: []gpu.BDF{n.GPUs[1].BDF}}}},
		},
	}
	s := State{Node: n, Interval: 2 * time.Second}
	return s.WithReadings(readings, "libmxsml", nil, noon).WithUsers(report, nil, noon)
}

// text is the screen as text.
func text(lines []Line) string {
	var out []string
	for _, l := range lines {
		out = append(out, strings.TrimRight(l.String(), " "))
	}
	return strings.Join(out, "\n")
}

func TestView(t *testing.T) {
	const want = `metax-ctk top  host�[2J  1 of 4 GPUs free  1 request in the queue
readings: libmxsml

GPU  MODEL   UTIL  MEMORY         TEMP  POWER     LINKS  USED BY
0    MXC500  0%    826/65536 MiB  35C   57/350 W  3      evil�]0;x� (docker)
1    MXC500  97%   -/65536 MiB    -     57 W      -      python3 (process 7) an…
2    MXC500  -     -              -     -         -      free
3    MXC500  -     -              -     -         -      unhealthy

queue 1: eeeeeeeeeeee (waiting) requests any 4 GPUs, for 1m30s

q quit   s sort: index   p pause   up/down scroll   ? help`
	m := Model{State: working()}
	got := text(m.View(noon.Add(time.Second), 80, 24))
	if d := cmp.Diff(strings.ReplaceAll(want, `\ufffd`, "\ufffd"), got); d != "" {
		t.Error(d)
	}
	wide := text(m.View(noon, 120, 24))
	const clocks = `GPU  MODEL   UTIL              MEMORY         TEMP  POWER     CLOCK           LINKS  USED BY
0    MXC500  0%    ..........  826/65536 MiB  35C   57/350 W  1500 MHz        3      evil`
	if !strings.Contains(wide, clocks) || !strings.Contains(wide, "57 W      900 MHz (0x24)  -") {
		t.Errorf("clocks on a wide screen:\n%s", wide)
	}
	if !strings.Contains(wide, "97%   ##########") || !strings.Contains(wide, "0%    ..........") {
		t.Errorf("without bars:\n%s", wide)
	}
	for height := range 12 {
		if lines := m.View(noon, 80, height); len(lines) > max(height, 2) {
			t.Errorf("%d lines on a screen of %d:\n%s", len(lines), height, text(lines))
		}
	}
	const low = `metax-ctk top  host\ufffd[2J  1 of 4 GPUs free  1 request in the queue
readings: libmxsml
GPU  MODEL   UTIL  MEMORY         TEMP  POWER     LINKS  USED BY
0    MXC500  0%    826/65536 MiB  35C   57/350 W  3      evil\ufffd]0;x\ufffd (do…
1    MXC500  97%   -/65536 MiB    -     57 W      -      python3 (proce…
2    MXC500  -     -              -     -         -      free
3    MXC500  -     -              -     -         -      unhealthy
q quit   s sort: index   p pause   up/down scroll   ? help`
	if d := cmp.Diff(strings.ReplaceAll(low, `\ufffd`, "\ufffd"), text(m.View(noon, 72, 8))); d != "" {
		t.Errorf("a low screen: %s", d)
	}
	if lower := text(m.View(noon, 80, 7)); !strings.Contains(lower, "2 more below") || strings.Contains(lower, "unhealthy") {
		t.Errorf("a lower screen:\n%s", lower)
	}
}

// TestOnly: GPUs that are left out are neither in the document nor on the screen.
func TestOnly(t *testing.T) {
	s := working()
	s.IsOut = func(index int) bool { return index != 1 }
	if got := s.Top(noon); len(got.GPUs) != 1 || got.GPUs[0].Index != 1 || got.Summary.GPUs != 4 {
		t.Errorf("got %+v", got)
	}
	if got := text(Model{State: s}.View(noon, 80, 24)); !strings.Contains(got, "\n1    MXC500") || strings.Contains(got, "unhealthy") {
		t.Errorf("got\n%s", got)
	}
}

// After a failure the last values stay, with their age and the reason; what never came is
// missing.
func TestOldValues(t *testing.T) {
	now := noon.Add(time.Minute)
	hung := errors.New("no answer\nin time")
	s := working().WithReadings(nil, "", hung, now)
	if got := s.Top(now); *got.Readings.AgeSeconds != 60 || !got.Readings.Stale || got.Readings.Message != "no answer; in time" || *got.GPUs[0].Reading.TemperatureC != 35 {
		t.Errorf("readings: %+v of %+v", got.GPUs[0].Reading, got.Readings)
	}
	lines := Model{State: s}.View(now, 80, 24)
	if got := lines[1].String(); got != "readings: libmxsml, 60 s old: no answer; in time   users, 60 s old" {
		t.Errorf("freshness: %s", got)
	}
	for _, span := range lines[4][2:7] {
		if span.Style != Stale {
			t.Errorf("an old value is not grey: %+v", span)
		}
	}
	for _, span := range (Model{State: s.WithReadings(nil, "libmxsml", nil, now)}).View(now, 80, 24)[4][:7] {
		if span.Style == Stale {
			t.Errorf("a new value is grey: %+v", span)
		}
	}
	never := State{Node: s.Node, Interval: time.Second}
	if never.Complete() || never.WithUsers(lease.Report{}, nil, now).Complete() || !never.WithReadings(nil, "", hung, now).WithUsers(lease.Report{}, nil, now).Complete() {
		t.Error("Complete is wrong")
	}
	if got := (Model{State: never}).View(now, 80, 24)[1].String(); got != "readings: not known yet   users: not known yet" {
		t.Errorf("at first: %s", got)
	}
	told, err := json.Marshal(never.WithReadings(nil, "", hung, now).WithUsers(lease.Report{}, nil, now).Top(now))
	if err != nil || strings.Contains(string(told), "null") || strings.Contains(string(told), "Percent") || !strings.Contains(string(told), `"free":3`) {
		t.Errorf("%s, %v", told, err)
	}
	// What is not known is not free.
	unknown := Model{State: never.WithUsers(lease.Report{}, hung, now)}
	if got := text(unknown.View(now, 80, 24)); strings.Contains(got, "free") || !strings.Contains(got, "unhealthy") || !strings.Contains(got, "users: no answer; in time") {
		t.Errorf("without users:\n%s", got)
	}
	if told, err = json.Marshal(unknown.State.Top(now)); err != nil || strings.Contains(string(told), "summary") || !strings.Contains(string(told), `"holders":null`) {
		t.Errorf("%s, %v", told, err)
	}
}

func TestPress(t *testing.T) {
	m := Model{State: working()}
	order := func() string {
		var out []string
		for _, l := range m.View(noon, 80, 24)[4:8] {
			out = append(out, l.String()[:1])
		}
		return strings.Join(out, "")
	}
	for _, want := range []string{"index 0123", "utilisation 1023", "memory 0123", "temperature 0123", "power 0123", "index 0123"} {
		if got := m.Order.String() + " " + order(); got != want {
			t.Errorf("sorted by %s, want %s", got, want)
		}
		m, _ = m.Press('s', noon)
	}
	m.Order = ByIndex
	m, _ = m.Press('p', noon)
	m.State = m.State.WithReadings(nil, "libmxsml", nil, noon)
	if got := m.View(noon.Add(time.Hour), 80, 24); !strings.Contains(got[0].String(), "paused") || !strings.Contains(got[5].String(), "97%") {
		t.Errorf("paused:\n%s", text(got))
	}
	m, _ = m.Press(' ', noon)
	if got := m.View(noon, 80, 24); strings.Contains(text(got), "97%") || strings.Contains(text(got), "paused") {
		t.Errorf("after a pause:\n%s", text(got))
	}
	m, _ = m.Press('?', noon)
	if got := text(m.View(noon, 80, 24)); !strings.Contains(got, "Ctrl-C") || strings.Contains(got, "MXC500") {
		t.Errorf("help:\n%s", got)
	}
	m, _ = m.Press(Esc, noon)
	for _, key := range []rune{Down, 'j', 'j', 'j', 'j', Up} {
		m, _ = m.Press(key, noon)
	}
	if got := text(m.View(noon, 80, 24)); m.Offset != 2 || !strings.Contains(got, "\n2 ") || strings.Contains(got, "\n1 ") {
		t.Errorf("scrolled by %d:\n%s", m.Offset, got)
	}
	if after, end := m.Press('x', noon); end || !cmp.Equal(after.Offset, m.Offset) {
		t.Error("x does something")
	}
	if _, end := m.Press('q', noon); !end {
		t.Error("q does not end")
	}
}

// TestUsers names users by what is known of them, and sources that may hide some.
func TestUsers(t *testing.T) {
	for want, h := range map[string]ps.Holder{
		"lease aaaaaaaaaaaa (pending) of ann": {State: "pending", User: "ann", Lease: &ps.Lease{ID: "aaaaaaaaaaaa"}},
		"555555555555 (podman)":               {Container: &ps.Container{ID: strings.Repeat("5", 64), Engine: "podman"}},
		"sh (process 8)":                      {Processes: []ps.Process{{PID: 8, Command: "sh"}}},
		"not known":                           {State: "unseen"},
	} {
		if d := cmp.Diff(want, user(h)); d != "" {
			t.Error(d)
		}
	}
	s := working().WithUsers(lease.Report{Looks: []lease.Look{{Engine: "docker", Endpoint: "/d.sock", Err: errors.New("no answer")}}}, nil, noon)
	if got := s.Top(noon).Users.Message; got != "docker at /d.sock: no answer" {
		t.Errorf("users: %q", got)
	}
}

// TestUserUnknown: a GPU with load and no known user is not free, and has no word for its user
// while nobody was asked.
func TestUserUnknown(t *testing.T) {
	s := working().WithUsers(lease.Report{}, nil, noon)
	told := s.Top(noon)
	var used []string
	for _, g := range told.GPUs {
		used = append(used, g.Row()[len(Head)-1])
	}
	if d := cmp.Diff([]string{"free", "user not known", "free", "unhealthy"}, used); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(ps.Summary{GPUs: 4, Free: 2, UserUnknown: 1}, *told.Summary); d != "" {
		t.Error(d)
	}
	never := State{Node: s.Node, readings: s.readings}.Top(noon).GPUs[1]
	if row := never.Row(); row[len(row)-1] != "-" || never.UserUnknown {
		t.Errorf("before anybody was asked: %+v", never)
	}
}

// TestLive: a question that takes long is not asked again meanwhile, and does not keep the
// others' answers; the numbers count.
func TestLive(t *testing.T) {
	quick := func(_ context.Context, number int) func(State) State {
		return func(s State) State { s.Interval = time.Duration(number); return s }
	}
	gate, asked := make(chan struct{}), 0
	slow := func(context.Context, int) func(State) State {
		asked++
		<-gate
		return func(s State) State { s.Node.Name = "late"; return s }
	}
	l := NewLive(State{}, quick, slow)
	for range 2 {
		l.Start(t.Context())
		l.Take(<-l.Answers())
	}
	if l.State.Interval != 1 || l.State.Node.Name != "" {
		t.Errorf("after two quick answers: %+v", l.State)
	}
	ended := make(chan time.Time)
	close(ended)
	if l.Look(t.Context(), ended) {
		t.Error("all answers came")
	}
	close(gate)
	if !l.Look(t.Context(), nil) || l.State.Node.Name != "late" || asked != 1 {
		t.Errorf("%+v after %d slow questions", l.State, asked)
	}
	l.Start(t.Context())
	l.Wait()
}
