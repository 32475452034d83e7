// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/metax-ctk/container-toolkit/k8s/api/v1alpha1"
)

// Policy is how nodes are upgraded.
type Policy struct {
	Enabled     bool // nodes are upgraded at all
	Paused      bool // no more nodes
	Failures    int  // so many failed nodes pause the roll-out
	Parallel    Amount
	Unavailable Amount // 0: only nodes whose GPUs no pod uses
	Steps       []Step
	// Wait is how long pods with GPUs may go on until they are evicted, or until the node
	// fails if they are not. 0 is at once for the former, and for ever for the latter.
	Wait            time.Duration
	Deletion, Drain Eviction
}

// Step is how many nodes are upgraded until there is a pause.
type Step struct {
	Replicas Amount // since the beginning
	Pause    time.Duration
}

// Eviction is whether pods are evicted, also those that nobody creates again (Force), and
// within which time; 0 is without a limit.
type Eviction struct {
	Enabled, Force bool
	Timeout        time.Duration
}

// Amount is a number of nodes, or a percentage of all.
type Amount struct {
	N       int
	Percent bool
}

// Of is the amount of a number of nodes, rounded up.
func (a Amount) Of(nodes int) int {
	if !a.Percent {
		return a.N
	}
	return (a.N*nodes + 99) / 100
}

// NewPolicy reads the policy of a ClusterOperator. What it does not say is as in the vendor's
// chart. An error names the field.
func NewPolicy(u *v1alpha1.DriverUpgradePolicy) (Policy, error) {
	if u == nil {
		u = &v1alpha1.DriverUpgradePolicy{}
	}
	p := Policy{
		Enabled: u.EnableRollout, Paused: u.Pause, Failures: 5, Parallel: Amount{100, true},
		Deletion: Eviction{u.PodDeletion.Enable, u.PodDeletion.Force, 0},
		Drain:    Eviction{u.Drain.Enable, u.Drain.Force, 0},
	}
	var errs []error
	bad := func(field string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("driver.upgradePolicy.%s: %w", field, err))
		}
	}
	if u.Fallback != "" && u.Fallback != "pause" {
		bad("fallback", fmt.Errorf("%.40q is not known; want pause", u.Fallback))
	}
	if u.MaxFailureThreshold != nil {
		if p.Failures = int(*u.MaxFailureThreshold); p.Failures < 1 {
			bad("maxFailureThreshold", fmt.Errorf("%d is not at least 1", p.Failures))
		}
	}
	var err error
	if u.MaxParallel != nil {
		p.Parallel, err = parseAmount(*u.MaxParallel, 1)
		bad("maxParallel", err)
	}
	if u.MaxUnavailable != nil {
		p.Unavailable, err = parseAmount(*u.MaxUnavailable, 0)
		bad("maxUnavailable", err)
	}
	for i, s := range u.UpgradeSteps {
		field := fmt.Sprintf("upgradeSteps[%d].", i)
		replicas, err := parseAmount(s.Replicas, 1)
		bad(field+"replicas", err)
		pause, err := parseTime(s.PauseDuration, time.Millisecond)
		bad(field+"pauseDuration", err)
		p.Steps = append(p.Steps, Step{replicas, pause})
	}
	p.Wait, err = parseTime(u.WaitForCompletion.TimeoutSeconds, time.Second)
	bad("waitForCompletion.timeoutSeconds", err)
	p.Deletion.Timeout, err = parseTime(u.PodDeletion.TimeoutSeconds, time.Second)
	bad("podDeletion.timeoutSeconds", err)
	p.Drain.Timeout, err = parseTime(u.Drain.TimeoutSeconds, time.Second)
	bad("drain.timeoutSeconds", err)
	return p, errors.Join(errs...)
}

// parseAmount reads a number or a percentage up to 100 %.
func parseAmount(v intstr.IntOrString, least int) (Amount, error) {
	a := Amount{N: v.IntValue()}
	if v.Type == intstr.String {
		text, percent := strings.CutSuffix(v.StrVal, "%")
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil || !percent || n > 100 {
			return a, fmt.Errorf("%.40q is not a number or a percentage such as 25%%", v.StrVal)
		}
		a = Amount{int(n), true}
	}
	if a.N < least {
		return a, fmt.Errorf("%s is not at least %d", v.String(), least)
	}
	return a, nil
}

// longest bounds times, so that they can be counted in nanoseconds.
const longest = 366 * 24 * time.Hour

func parseTime(n int64, unit time.Duration) (time.Duration, error) {
	if n < 0 || n > int64(longest/unit) {
		return 0, fmt.Errorf("%d is not a time of 0 to 366 days", n)
	}
	return time.Duration(n) * unit, nil
}
