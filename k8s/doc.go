// SPDX-License-Identifier: Apache-2.0

// Package k8s is the cluster side of the MetaX container toolkit.
//
// There is nothing to import here. Each program has a folder of its name in cmd and one of its
// own in internal; what several programs share stands beside these folders.
//
//   - cmd/metax-gpu-device and internal/device: the device plugin. device/inventory turns a
//     Node into devices, device/allocate chooses among them, device/plugin speaks with the
//     kubelet.
//   - cmd/metax-gpu-label and internal/label: labels of nodes, and the clean-up after an
//     uninstall.
//   - cmd/metax-gpu-aware and internal/scheduler: the scheduler extender; scheduler/nodescore
//     judges the nodes, scheduler/extender answers kube-scheduler.
//   - cmd/metax-exporter and internal/exporter: metrics for Prometheus.
//   - cmd/metax-operator, internal/operator, and internal/agent for what runs on each node:
//     driver, MXMACA, virtual functions, engines.
//   - cmd/kubectl-metax and internal/kubectl: what people type.
//   - internal/protocol: the names that all of them agree on; internal/protocol/foreign those
//     of other projects.
//
// docs/kubernetes-architecture.md follows a pod through them. The charts are in charts.
package k8s
