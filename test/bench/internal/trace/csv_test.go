package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestReadCSV(t *testing.T) {
	for text, want := range map[string][]Job{
		"arrival,gpus,duration\n":                                        {},
		"arrival,gpus,duration\n0,1,60\n":                                {{Arrival: 0, GPUs: 1, Duration: Minute}},
		"name,duration,gpus,arrival\nx,1h30m,4,0.5":                      {{Name: "x", Arrival: 500, GPUs: 4, Duration: 90 * Minute}},
		"\ufeffarrival, gpus, duration\r\n 1 , 2 , 0 \r\n":               {{Arrival: Second, GPUs: 2}},
		"arrival,gpus,duration,name\n1,1,1,\"a,\"\"b\"\"\nc\"\n":         {{Arrival: Second, GPUs: 1, Duration: Second, Name: "a,\"b\"\nc"}},
		"arrival,gpus,duration,name\n2,1,1,late\n1,9,1,one\n1,8,1,two\n": {{Arrival: Second, GPUs: 9, Duration: Second, Name: "one"}, {Arrival: Second, GPUs: 8, Duration: Second, Name: "two"}, {Arrival: 2 * Second, GPUs: 1, Duration: Second, Name: "late"}},
	} {
		got, err := ReadCSV(strings.NewReader(text))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", text, err, diff)
		}
	}
}

// Jobs that arrive together keep their order, however many they are.
func TestReadCSVSortsStably(t *testing.T) {
	var text strings.Builder
	text.WriteString("arrival,gpus,duration\n")
	for i := range 100 {
		fmt.Fprintf(&text, "%d,%d,1\n", (i+1)%2, i+1)
	}
	jobs, err := ReadCSV(strings.NewReader(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	for i, j := range jobs {
		if want := (Job{Arrival: Time(i/50) * Second, GPUs: 2*(i%50) + 2 - i/50, Duration: Second}); j != want {
			t.Errorf("job %d is %v, want %v", i, j, want)
		}
	}
}

func TestReadCSVRefuses(t *testing.T) {
	const head = "arrival,gpus,duration\n"
	for text, want := range map[string]FormatError{
		"":                                  {1, "", "no header; want arrival,gpus,duration"},
		"arrival,gpus\n":                    {1, "duration", "missing"},
		"arrival,gpus,duration,gpus\n":      {1, "gpus", "named twice"},
		"arrival,gpus,duration,user\n":      {1, "", `column "user" is not known; want arrival, gpus, duration, name`},
		"0,1,60\n":                          {1, "", `column "0" is not known; want arrival, gpus, duration, name`},
		head + "0,1\n":                      {2, "", "wrong number of fields"},
		head + "0,1,1\n\n0,1,1,1\n":         {4, "", "wrong number of fields"},
		head + "0,1,\"1\n":                  {2, "", `extraneous or missing " in quoted-field`},
		head + "0,1,1\nsoon,1,1\n":          {3, "arrival", `"soon": want seconds, or a duration such as 1h30m`},
		head + "-1,1,1\n":                   {2, "arrival", `"-1": want seconds, or a duration such as 1h30m`},
		head + "NaN,1,1\n":                  {2, "arrival", `"NaN": want seconds, or a duration such as 1h30m`},
		head + "0,0,1\n":                    {2, "gpus", `"0": want a number of GPUs, at least 1`},
		head + "0,-2,1\n":                   {2, "gpus", `"-2": want a number of GPUs, at least 1`},
		head + "0,1.5,1\n":                  {2, "gpus", `"1.5": want a number of GPUs, at least 1`},
		head + "0,99999999999999999999,1\n": {2, "gpus", `"99999999999999999999": want a number of GPUs, at least 1`},
		head + "0,1,inf\n":                  {2, "duration", `"inf": want seconds, or a duration such as 1h30m`},
		head + "0,1,1000000001\n":           {2, "duration", `"1000000001": at most 1000000000 seconds`},
		head + "0,1,1e300\n":                {2, "duration", `"1e300": want seconds, or a duration such as 1h30m`},
		"name,gpus,arrival,duration\n\"a\nb\",0,0,1\n": {3, "gpus", `"0": want a number of GPUs, at least 1`},
	} {
		_, err := ReadCSV(strings.NewReader(text))
		var got *FormatError
		if !errors.As(err, &got) {
			t.Errorf("%q: %v", text, err)
		} else if diff := cmp.Diff(want, *got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	if err := (&FormatError{3, "gpus", "no"}).Error(); err != "line 3, column gpus: no" {
		t.Error(err)
	}
	if _, err := ReadCSV(iotest.ErrReader(io.ErrUnexpectedEOF)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("an error of the reader became %v", err)
	}
}

// endless repeats a text.
type endless struct {
	text string
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	return n, nil
}

func TestReadCSVIsBounded(t *testing.T) {
	var format *FormatError
	_, err := ReadCSV(io.MultiReader(strings.NewReader("arrival,gpus,duration\n"), &endless{text: strings.Repeat("0,1,1\n", 1000)}))
	if !errors.As(err, &format) || format.Line != MaxJobs+2 || format.Reason != "more than 1000000 jobs" {
		t.Errorf("lines without end: %v", err)
	}
	b := &bounded{r: &endless{text: "x"}, left: 10}
	if text, err := io.ReadAll(b); err == nil || len(text) > 10 || !strings.Contains(err.Error(), "more than") {
		t.Errorf("read %d bytes of at most 10, %v", len(text), err)
	}
}

func TestParseTime(t *testing.T) {
	for text, want := range map[string]Time{
		"0": 0, "90": 90 * Second, "0.25": 250, "0.0004": 0, "0.0005": 1, "1e3": 1000 * Second, "1h30m": 90 * Minute,
		"1.5h": 90 * Minute, "2d": 48 * Hour, "10ms": 10, "1m1s1ms": 61_001, "100000000000": maxTime, "1730000000.123": 1_730_000_000_123,
	} {
		if got, err := ParseTime(text); got != want || err != nil {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", " ", "-1", "-0", "NaN", "Inf", "0x10", "1_000", "0x1p4", "1h30", "h", "1hm", "1.h.", "1x", "1us", "1e3h", "1 h", "100000000001", "1157408d", "1000000d1000000d", "-1h",
	} {
		if got, err := ParseTime(text); err == nil {
			t.Errorf("%q: %v, want an error", text, got)
		}
	}
	for ms, want := range map[Time]string{0: "0", 1: "0.001", 1500: "1.5", 90 * Minute: "5400", 10: "0.01", -1500: "-1.5", 100 * Second: "100"} {
		if got := ms.String(); got != want {
			t.Errorf("%d ms is %q, want %q", int64(ms), got, want)
		}
	}
}

// FuzzReadCSV: what is read is a trace, and comes back when it is written.
func FuzzReadCSV(f *testing.F) {
	f.Add("arrival,gpus,duration\n0,1,60\n5,2,1h30m\n")
	f.Add("\ufeffname,duration,gpus,arrival\r\n\"a,\"\"\n\",0.001,4,1e9\r\n")
	f.Add("arrival,gpus,duration,name\n3,1,1,x\n1,9,1,\n")
	f.Fuzz(func(t *testing.T, text string) {
		jobs, err := ReadCSV(strings.NewReader(text))
		if err != nil {
			return
		}
		if err := checkTrace(jobs); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		var written bytes.Buffer
		if err := WriteCSV(&written, jobs); err != nil {
			t.Fatal(err)
		}
		again, err := ReadCSV(&written)
		if diff := cmp.Diff(jobs, again); diff != "" || err != nil {
			t.Fatalf("%q: %v (-read +again):\n%s", text, err, diff)
		}
	})
}
