// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/placement"
)

// clusterFile keeps the results of the last run on a cluster.
const clusterFile = "kubernetes.json"

// ClusterResults are measurements on a Kubernetes cluster. What depends on the number of nodes or
// on the scheduler can be measured again without the others.
type ClusterResults struct {
	Machine    Machine `json:"machine"`
	Kubernetes string  `json:"kubernetes"` // version
	Commit     string  `json:"commit"`
	Date       string  `json:"date"` // of the run, as 2006-01-02 in UTC
	// Calls are answers of the device plugin.
	Calls  map[string]Call           `json:"calls"`
	Starts placement.Starts          `json:"starts"`
	Idle   map[string]placement.Idle `json:"idle"`

	Scale Scale `json:"scale"`
}

// Scale is what was measured on many nodes, and when.
type Scale struct {
	Commit   string              `json:"commit"`
	Date     string              `json:"date"`
	Load     float64             `json:"load"` // before Nodes
	Nodes    []placement.Nodes   `json:"nodes"`
	Volcano  *placement.Nodes    `json:"volcano,omitempty"` // Nodes with Volcano
	Operator *placement.Operator `json:"operator,omitempty"`
	// Days are in the order in which the schedulers first had one.
	Days []placement.Outcome `json:"days"`
}

// Call is how long the answers to a call took, in nanoseconds.
type Call struct{ Median, P99 float64 }

// The trace of a day, and the nodes that it is for.
const (
	dayTrace = "k8s/test/e2e/testdata/day.csv"
	dayNode  = "c500-8"
	dayNodes = 100
)

// measureCluster measures the device plugin and, unless there is a file with figures of
// TestScale, TestVolcanoScale, TestDay, TestRate, TestOperatorScale and TestBench at this
// commit, runs these, which takes about an hour.
func measureCluster(file string) (r ClusterResults, err error) {
	if r.Machine, err = thisMachine(); err != nil {
		return r, err
	}
	if r.Commit, err = clusterCommit(); err != nil {
		return r, err
	}
	if r.Kubernetes, err = kubernetesVersion(); err != nil {
		return r, err
	}
	r.Date = time.Now().UTC().Format(time.DateOnly)
	if file == "" {
		dir, err := os.MkdirTemp("", "metax-bench-")
		if err != nil {
			return r, err
		}
		defer os.RemoveAll(dir)
		file = filepath.Join(dir, "cluster.json")
		cmd := exec.Command(filepath.Join(source, "k8s/test/e2e/run"), "-run", "^(TestScale|TestVolcanoScale|TestDay|TestRate|TestOperatorScale|TestBench)$")
		cmd.Env = append(os.Environ(), "METAX_K8S_NIGHT=1", "METAX_K8S_BENCH="+file)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			return r, fmt.Errorf("measure on a cluster: %w", err)
		}
	}
	found, err := placement.Read(file)
	if err != nil {
		return r, err
	}
	r.Starts, r.Idle, r.Machine.Load = found.Starts, found.Idle, found.Load
	if err := r.Scale.add(found); err != nil {
		return r, err
	}
	r.Calls, err = pluginCalls()
	return r, err
}

// addScale replaces what was measured on many nodes by the figures of a file, which are of this
// commit and today. It must have those of TestScale; a scheduler or the operator without figures
// there keeps its own.
func (r *ClusterResults) addScale(file string) error {
	found, err := placement.Read(file)
	if err != nil {
		return err
	}
	return r.Scale.add(found)
}

func (s *Scale) add(found placement.Figures) (err error) {
	if len(found.Nodes) == 0 {
		return errors.New("the file has no figures of TestScale")
	}
	if s.Commit, err = clusterCommit(); err != nil {
		return err
	}
	s.Date, s.Load, s.Nodes = time.Now().UTC().Format(time.DateOnly), found.Load, found.Nodes
	s.Volcano, s.Operator = cmp.Or(found.Volcano, s.Volcano), cmp.Or(found.Operator, s.Operator)
	days, err := replayDays(found.Days)
	if err != nil {
		return err
	}
	for _, day := range days {
		at := slices.IndexFunc(s.Days, func(o placement.Outcome) bool { return o.Policy == day.Policy })
		if at < 0 {
			s.Days = append(s.Days, day)
			continue
		}
		day.Rate = s.Days[at].Rate
		s.Days[at] = day
	}
	for i, day := range s.Days {
		s.Days[i].Rate = cmp.Or(found.Rates[day.Policy], day.Rate)
	}
	return nil
}

// clusterCommit is the commit of what is measured on a cluster.
func clusterCommit() (string, error) { return commit("cmd", "internal", "go.mod", "go.sum", "k8s") }

// kubernetesVersion is the version of the cluster.
func kubernetesVersion() (string, error) {
	if version := os.Getenv("METAX_K8S_VERSION"); version != "" {
		return version, nil
	}
	text, err := os.ReadFile(filepath.Join(source, "k8s/test/cluster/with"))
	if err != nil {
		return "", err
	}
	found := regexp.MustCompile(`METAX_K8S_VERSION:-([\d.]+)\}`).FindSubmatch(text)
	if found == nil {
		return "", errors.New("k8s/test/cluster/with names no version of Kubernetes")
	}
	return string(found[1]), nil
}

// replayDays finds out what came of the jobs where the schedulers placed them.
func replayDays(days []placement.Day) (results []placement.Outcome, err error) {
	jobs, err := placement.ReadJobs(filepath.Join(source, dayTrace))
	if err != nil {
		return nil, err
	}
	node, err := sim.Node(dayNode)
	if err != nil {
		return nil, err
	}
	graph, _ := topology.New(node) // a simulated node gives no warnings
	cluster := placement.NewCluster(dayNodes, node.Healthy(), graph)
	for _, day := range days {
		result, err := cluster.Replay(day, jobs)
		if err != nil {
			return nil, err
		}
		results = append(results, result)
	}
	return results, nil
}

// pluginCalls runs the benchmarks of the device plugin.
func pluginCalls() (map[string]Call, error) {
	text, err := output(exec.Command("go", "-C", "k8s", "test", "./internal/device/plugin", "-run", "^$", "-bench", "^Benchmark(GetPreferredAllocation|Allocate)$", "-benchtime", "1x"))
	if err != nil {
		return nil, err
	}
	return parseCalls(text)
}

// parseCalls reads lines such as "BenchmarkAllocate/gpus=8-2 1 5306 ns/op 2400 µs-max 499
// µs-median 940 µs-p99".
func parseCalls(text string) (map[string]Call, error) {
	calls := map[string]Call{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 3 || !strings.HasPrefix(words[0], "Benchmark") {
			continue
		}
		var c Call
		into := map[string]*float64{"µs-median": &c.Median, "µs-p99": &c.P99}
		for i := 3; i < len(words); i += 2 {
			to := into[words[i]]
			if to == nil {
				continue
			}
			value, err := strconv.ParseFloat(words[i-1], 64)
			if err != nil {
				return nil, fmt.Errorf("read benchmark line %q: %w", line, err)
			}
			*to = value * 1e3
		}
		name := strings.TrimPrefix(words[0], "Benchmark")
		if at := strings.LastIndexByte(name, '-'); at > 0 {
			name = name[:at] // the number of processors
		}
		if c.P99 == 0 {
			return nil, fmt.Errorf("read benchmark line %q: want µs-p99", line)
		}
		calls[name] = c
	}
	if len(calls) == 0 {
		return nil, errors.New("the device plugin has no benchmarks")
	}
	return calls, nil
}

func loadCluster() (r ClusterResults, err error) {
	text, err := os.ReadFile(clusterFile)
	if err != nil {
		return r, fmt.Errorf("read results: %w (test/bench/run kubernetes measures)", err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("read %s: %w", clusterFile, err)
	}
	return r, nil
}
