package main

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fiveJobs are a trace that spread and first serve differently: spread leaves GPUs 3 and 7 and no
// pair, first leaves a pair.
const fiveJobs = `name,arrival,gpus,duration
a,100,3,10
b,100,3,10s
d,102,4,10
e,1m43s,1,1
c,101,2,5
`

const largeJobs = `arrival,gpus,duration
0,8,60
0,7,60
`

// traced is what trace prints, for arguments in one string.
func traced(t *testing.T, args, jobs string) string {
	t.Helper()
	var out strings.Builder
	if err := runTrace(strings.Fields(args), strings.NewReader(jobs), &out); err != nil {
		t.Fatalf("trace %s: %v", args, err)
	}
	return out.String()
}

func TestTrace(t *testing.T) {
	for _, c := range []struct{ args, jobs, want string }{
		{"-policy spread,first -", fiveJobs, `POLICY  ACCEPTED  LINKED  WAIT  MEDIAN  P95  UTILISED  FRAGMENTED  CLASSES
spread  100.0 %   75.0 %  3s    0s      8s   69.4 %    25.0 %      MX 3, NODE 1
first   100.0 %   75.0 %  3s    0s      8s   69.4 %    0.0 %       MX 3, NODE 1
c500-8: 5 jobs, 2 policies; 8 GPUs, offered load 4.62, first come first served
`},
		{"-policy compact -backfill -wait 1h -format csv -", fiveJobs, `policy,jobs,started,gave_up,never,acceptance,linked,wait_mean,wait_median,wait_p95,makespan,utilisation,fragmentation
spread,5,5,0,0,1,0.75,2.2,0,8,20,0.69375,0.2
`},
		{"-jobs 3 -format jobs", "", `arrival,gpus,duration
785.042,1,5250.267
3201.277,4,4801.593
3830.318,2,94.796
`},
	} {
		if d := cmp.Diff(c.want, traced(t, c.args, c.jobs)); d != "" {
			t.Errorf("trace %s (-want +got):\n%s", c.args, d)
		}
	}
}

func TestTraceParts(t *testing.T) {
	for _, c := range []struct {
		args, jobs string
		want       []string
	}{
		{"-wait 0 -policy first -", fiveJobs, []string{"\nfirst   60.0 %    66.7 %  0s    0s      0s   87.5 % ", "no queue", ": 5 jobs, 1 policy; 8 GPUs,"}},
		{"-scope link -wait 5s -policy first -", fiveJobs, []string{"first come first served, giving up after 5 s, scope link\n"}},
		{"-backfill -policy first -", fiveJobs, []string{"first come first served with backfill\n"}},
		{"-node c500-8-degraded -policy first -", largeJobs, []string{"50.0 %", "1 job rejected that even the idle node cannot serve"}},
		{"-node c500-1 -jobs 20 -policy spread", "", []string{"\nspread  100.0 %   -  ", "  -\nc500-1: 20 jobs"}},
		{"-jobs 20 -policy weighted:10,1,first", "", []string{"\nweighted:10,1  ", "\nfirst  ", "2 policies"}},
		{"-jobs 200 -format timeline", "", []string{"policy,time,utilisation,", "\nmtf,0,"}},
		{"-jobs 200 -format svg", "", []string{"<svg ", "c500-8: 200 jobs, 4 policies"}},
		{"-jobs 1 -mix 3:1 -mean-duration 10m -seed 9 -load 2 -format jobs", "", []string{",3,"}},
	} {
		got := traced(t, c.args, c.jobs)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("trace %s: no %q in\n%s", c.args, want, got)
			}
		}
	}
}

// TestTraceMix gives a node the sizes of the usual mix that it has.
func TestTraceMix(t *testing.T) {
	jobs := traced(t, "-node c500-4-degraded -jobs 500 -format jobs", "")
	if strings.Contains(jobs, ",8,") || !strings.Contains(jobs, ",4,") {
		t.Errorf("want jobs of 4 GPUs and none of 8:\n%s", jobs)
	}
}

// TestTraceReadsBack runs a generated trace from its file.
func TestTraceReadsBack(t *testing.T) {
	jobs := traced(t, "-jobs 50 -format jobs", "")
	if d := cmp.Diff(traced(t, "-jobs 50", ""), traced(t, "-", jobs)); d != "" {
		t.Errorf("generated and read differ:\n%s", d)
	}
}

func TestTraceErrors(t *testing.T) {
	for _, c := range []struct{ args, jobs, want string }{
		{"-", "arrival,gpus,duration\n0,1,1\n0,0,1\n", `line 3, column gpus: "0": want a number of GPUs, at least 1`},
		{"-node c900", "", `"c900"`},
		{"jobs.csv", "", "trace jobs.csv: the only argument is -, for jobs on standard input"},
		{"- -seed 2", "", "trace - -seed 2: the only argument is -"},
		{"-policy best", "", `policy "best" is not known`},
		{"-policy spread,compact", "", "-policy spread,compact names spread twice"},
		{"-policy all,first", "", `policy "all" is not known`},
		{"-scope rack", "", `scope "rack" is not known`},
		{"-wait=-1", "", `-wait "-1": want seconds`},
		{"-format png", "", `-format "png": want table, csv, timeline, svg or jobs`},
		{"-mix 1:0", "", `mix "1:0"`},
		{"-load 0", "", "load 0; want a number above 0"},
		{"-mean-duration long", "", `-mean-duration "long": want seconds`},
	} {
		err := runTrace(strings.Fields(c.args), strings.NewReader(c.jobs), io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("trace %s: error %v, want %q", c.args, err, c.want)
		}
	}
}
