package trace

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Spec describes a trace to make. Jobs arrive as a Poisson process and last
// exponentially long, each independent of all others.
type Spec struct {
	Jobs int // 0 to MaxJobs
	GPUs int // of the node
	// Load is how many GPU-seconds the jobs request, on average, in a GPU-second of
	// the node: above 1 it can never keep up.
	Load         float64
	Mix          []Portion
	MeanDuration Time
	Seed         uint64
}

// Portion says that jobs of GPUs come Weight times in as many jobs as all weights
// of a mix add up to.
type Portion struct {
	GPUs, Weight int
}

// maxWeight keeps the sum of a mix within an int.
const maxWeight = 1_000_000

// ParseMix reads a mix of sizes such as "1:4,2:3,4:2,8:1": GPUs and weight.
func ParseMix(s string) ([]Portion, error) {
	var mix []Portion
	for word := range strings.SplitSeq(s, ",") {
		size, weight, ok := strings.Cut(word, ":")
		gpus, errGPUs := strconv.Atoi(size)
		times, errTimes := strconv.Atoi(weight)
		if !ok || errGPUs != nil || errTimes != nil || gpus < 1 || gpus > maxGPUs || times < 1 || times > maxWeight {
			return nil, fmt.Errorf("mix %q: %q: want GPUs:WEIGHT, such as 1:4,2:3,4:2,8:1", s, word)
		}
		mix = append(mix, Portion{gpus, times})
	}
	return mix, nil
}

// Generate makes a trace. The same Spec gives the same trace; one that differs in
// Load alone gives the same jobs, nearer together.
func Generate(s Spec) ([]Job, error) {
	total, weighted := 0, 0.0
	for _, p := range s.Mix {
		if p.GPUs < 1 || p.GPUs > maxGPUs || p.Weight < 1 || p.Weight > maxWeight {
			return nil, fmt.Errorf("generate trace: %d jobs of %d GPUs in a mix", p.Weight, p.GPUs)
		}
		total += p.Weight
		weighted += float64(p.GPUs) * float64(p.Weight)
	}
	switch {
	case total == 0:
		return nil, fmt.Errorf("generate trace: the mix of sizes is empty")
	case s.Jobs < 0 || s.Jobs > MaxJobs:
		return nil, fmt.Errorf("generate trace: %d jobs; want at most %d", s.Jobs, MaxJobs)
	case s.GPUs < 1:
		return nil, fmt.Errorf("generate trace: a node of %d GPUs", s.GPUs)
	case !(s.Load > 0) || math.IsInf(s.Load, 0): // NaN is not above 0
		return nil, fmt.Errorf("generate trace: load %v; want a number above 0", s.Load)
	case s.MeanDuration < 1 || s.MeanDuration > maxDuration/100: // of 10^6 jobs, none lasts so long
		return nil, fmt.Errorf("generate trace: mean duration %v; want at least 0.001 and at most %v seconds", s.MeanDuration, maxDuration/100)
	}
	gap := weighted / float64(total) * float64(s.MeanDuration) / (s.Load * float64(s.GPUs))
	if gap*float64(s.Jobs)*2+float64(Hour) > float64(maxTime) {
		return nil, fmt.Errorf("generate trace: at a load of %v, %d jobs take too long", s.Load, s.Jobs)
	}
	r := rand.New(rand.NewPCG(s.Seed, 0))
	jobs := make([]Job, s.Jobs)
	at := 0.0
	for i := range jobs {
		at += float64(r.ExpFloat64() * gap) // the conversion rounds, whatever the machine could fuse
		jobs[i] = Job{
			Arrival: Time(math.Round(at)), GPUs: s.size(r.IntN(total)),
			Duration: Time(math.Round(r.ExpFloat64() * float64(s.MeanDuration))),
		}
	}
	if err := checkTrace(jobs); err != nil {
		return nil, fmt.Errorf("generate trace: %w", err)
	}
	return jobs, nil
}

// size is the size of the job at a place in the mix, from 0.
func (s Spec) size(at int) int {
	for _, p := range s.Mix {
		if at -= p.Weight; at < 0 {
			return p.GPUs
		}
	}
	return 0 // not reached: at is below the sum of the weights
}
