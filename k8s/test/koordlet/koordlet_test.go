// SPDX-License-Identifier: Apache-2.0

package koordlet

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/koordinator-sh/koordinator/apis/scheduling/v1alpha1"
	koordfake "github.com/koordinator-sh/koordinator/pkg/client/clientset/versioned/fake"
	"github.com/koordinator-sh/koordinator/pkg/features"
	"github.com/koordinator-sh/koordinator/pkg/koordlet/metriccache"
	"github.com/koordinator-sh/koordinator/pkg/koordlet/metricsadvisor/devices/xpu"
	"github.com/koordinator-sh/koordinator/pkg/koordlet/metricsadvisor/framework"
	"github.com/koordinator-sh/koordinator/pkg/koordlet/statesinformer/impl"
	"github.com/koordinator-sh/koordinator/pkg/koordlet/util/system"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes/fake"
)

const nodeName = "node-a"

// koordlet is as much of koordlet as makes Device objects: the collector, which reads the
// directory, and what keeps the Device of the node up to date.
type koordlet struct {
	collector framework.DeviceCollector
	cache     metriccache.MetricCache
	client    *koordfake.Clientset
}

// newKoordlet starts a koordlet that reads dir. There can be one at a time.
func newKoordlet(t *testing.T, dir string) *koordlet {
	t.Helper()
	if err := errors.Join(
		features.DefaultMutableKoordletFeatureGate.Set("Accelerators=true"),
		feature.DefaultMutableFeatureGate.Set("WatchListClient=false"), // the fake API server does not stream lists
	); err != nil {
		t.Fatal(err)
	}
	system.Conf.XPUDeviceInfosDir = dir
	config := metriccache.NewDefaultConfig()
	config.TSDBPath, config.TSDBEnablePromMetrics = t.TempDir(), false
	cache, err := metriccache.NewMetricCache(config)
	if err != nil {
		t.Fatal(err)
	}
	k := &koordlet{collector: xpu.New(&framework.Options{}), cache: cache, client: koordfake.NewSimpleClientset()}
	if !k.collector.Enabled() {
		t.Fatal("koordlet does not read the directory")
	}
	for name := range impl.DefaultPluginRegistry {
		if name != "nodeInformer" { // the others are for pods, metrics and CPUs
			delete(impl.DefaultPluginRegistry, name)
		}
	}
	informers := impl.NewDefaultConfig()
	informers.NodeTopologySyncInterval = 10 * time.Millisecond
	kube := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName, UID: "u"}})
	informer := impl.NewStatesInformer(informers, kube, k.client, nil, cache, nodeName, k.client.SchedulingV1alpha1(), nil)
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		if err := informer.Run(stop); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		close(stop)
		running.Wait()
		if err := cache.Close(); err != nil {
			t.Error(err)
		}
	})
	return k
}

// read reads the directory, as koordlet does every second.
func (k *koordlet) read(t *testing.T) {
	t.Helper()
	infos := k.collector.Infos()
	if infos == nil {
		t.Fatal("koordlet cannot read the file")
	}
	k.cache.Set(infos.Type(), infos)
}

// device waits for a Device about which want returns "", and returns it without its times.
func (k *koordlet) device(t *testing.T, want func(*v1alpha1.Device) string) *v1alpha1.Device {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	last := "there is none"
	for {
		device, err := k.client.SchedulingV1alpha1().Devices().Get(ctx, nodeName, metav1.GetOptions{})
		if err == nil {
			for i := range device.Spec.Devices {
				for j := range device.Spec.Devices[i].Conditions {
					device.Spec.Devices[i].Conditions[j].LastTransitionTime = metav1.Time{}
				}
			}
			if last = want(device); last == "" {
				return device
			}
		}
		select {
		case <-ctx.Done():
			t.Fatal("the Device: ", last)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
