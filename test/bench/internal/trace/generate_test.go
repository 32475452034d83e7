package trace

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGenerate(t *testing.T) {
	const n = 100_000
	for _, load := range []float64{0.3, 0.9, 2} {
		spec := Spec{Jobs: n, GPUs: 8, Load: load, Mix: fewLarge, MeanDuration: Hour, Seed: 1}
		jobs := generated(t, spec)
		if err := checkTrace(jobs); err != nil {
			t.Fatal(err)
		}
		near := func(what string, got, want, percent float64) {
			t.Helper()
			if math.Abs(got/want-1) > percent/100 {
				t.Errorf("load %v: %s is %v, want about %v", load, what, got, want)
			}
		}
		near("load", Load(jobs, 8), load, 3)

		// The distributions, by mean and variance: exponential ones have σ = mean.
		sizes := map[int]int{}
		gaps, durations := make([]float64, n-1), make([]float64, n)
		for i, j := range jobs {
			sizes[j.GPUs]++
			durations[i] = j.Duration.seconds()
			if i > 0 {
				gaps[i-1] = (j.Arrival - jobs[i-1].Arrival).seconds()
			}
		}
		for _, p := range fewLarge {
			near("share", float64(sizes[p.GPUs])/n, float64(p.Weight)/10, 3)
		}
		for what, of := range map[string]struct {
			values []float64
			mean   float64
		}{"gap": {gaps, 2.6 * 3600 / (8 * load)}, "duration": {durations, 3600}} {
			mean, deviation := moments(of.values)
			near("mean "+what, mean, of.mean, 2)
			near("deviation of "+what, deviation, of.mean, 3)
		}
	}
}

func moments(values []float64) (mean, deviation float64) {
	sum, squares := 0.0, 0.0
	for _, v := range values {
		sum += v
		squares += v * v
	}
	mean = sum / float64(len(values))
	return mean, math.Sqrt(squares/float64(len(values)) - mean*mean)
}

// A seed is a trace: these jobs must not change with a release.
func TestGenerateIsStable(t *testing.T) {
	spec := Spec{Jobs: 4, GPUs: 8, Load: 0.7, Mix: fewLarge, MeanDuration: Hour, Seed: 1}
	var b strings.Builder
	if err := WriteCSV(&b, generated(t, spec)); err != nil {
		t.Fatal(err)
	}
	want := "arrival,gpus,duration\n785.042,1,5250.267\n3201.277,4,4801.593\n3830.318,2,94.796\n8963.363,2,573.981\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	other := spec
	other.Seed = 2
	if cmp.Equal(generated(t, spec), generated(t, other)) {
		t.Error("another seed makes the same jobs")
	}
	// Another load makes the same jobs at other times.
	other = spec
	other.Load = 1.4
	for i, j := range generated(t, other) {
		first := generated(t, spec)[i]
		if j.GPUs != first.GPUs || j.Duration != first.Duration || math.Abs(float64(first.Arrival-2*j.Arrival)) > 2 {
			t.Errorf("job %d at twice the load is %v, was %v", i, j, first)
		}
	}
}

func TestGenerateRefuses(t *testing.T) {
	good := Spec{Jobs: 1, GPUs: 8, Load: 1, Mix: fewLarge, MeanDuration: Hour}
	for want, spoil := range map[string]func(*Spec){
		"-1 jobs":         func(s *Spec) { s.Jobs = -1 },
		"1000001 jobs":    func(s *Spec) { s.Jobs = MaxJobs + 1 },
		"node of 0 GPUs":  func(s *Spec) { s.GPUs = 0 },
		"load 0":          func(s *Spec) { s.Load = 0 },
		"load NaN":        func(s *Spec) { s.Load = math.NaN() },
		"load +Inf":       func(s *Spec) { s.Load = math.Inf(1) },
		"mix of sizes is": func(s *Spec) { s.Mix = nil },
		"1 jobs of 0":     func(s *Spec) { s.Mix = []Portion{{0, 1}} },
		"0 jobs of 1":     func(s *Spec) { s.Mix = []Portion{{1, 0}} },
		"duration 0;":     func(s *Spec) { s.MeanDuration = 0 },
		"duration 1e7":    func(s *Spec) { s.MeanDuration = maxDuration },
		"take too long":   func(s *Spec) { s.Load, s.Jobs = 1e-9, MaxJobs },
	} {
		spec := good
		spoil(&spec)
		if _, err := Generate(spec); err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(want, "1e7", "1000000000;")) {
			t.Errorf("%+v: %v, want %q", spec, err, want)
		}
	}
}

func TestParseMix(t *testing.T) {
	got, err := ParseMix("1:4,2:3,4:2,8:1")
	if diff := cmp.Diff(fewLarge, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, s := range []string{"", "1", "1:", ":1", "0:1", "1:0", "-1:1", "1:-1", "1:1,", "1:1;2:1", "1.5:1", "1:1000001", "9999999999:1"} {
		if mix, err := ParseMix(s); err == nil {
			t.Errorf("%q: %v, want an error", s, mix)
		}
	}
}

func TestLoad(t *testing.T) {
	for _, c := range []struct {
		jobs []Job
		want float64
	}{
		{nil, 0},
		{[]Job{{GPUs: 1, Duration: Hour}}, 0},
		{[]Job{{GPUs: 4, Duration: 10 * Second}, {GPUs: 8, Duration: 5 * Second, Arrival: 20 * Second}}, 0.5},
	} {
		if got := Load(c.jobs, 8); got != c.want {
			t.Errorf("%v: %v, want %v", c.jobs, got, c.want)
		}
	}
}
