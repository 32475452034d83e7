// SPDX-License-Identifier: Apache-2.0

// Package toolkit is the MetaX container toolkit: it finds the MetaX GPUs of a node, picks
// those that are linked best, and gives them to containers.
//
// There is nothing to import here. A reader begins at one of these places:
//
//   - cmd/metax-docker and internal/assign: from --gpus=4 to docker with four GPUs.
//     assign.Plan says which GPUs can meet a request, under the lock of internal/lease an
//     assign.Choice is made of it.
//   - internal/gpu: the Node, the value that everything else is about; internal/discover makes
//     it from sysfs, the driver's files and the vendor's tools, internal/sim from nothing.
//   - internal/alloc: the picker, pure and exact; internal/topology has the graph of links.
//   - internal/cdi, internal/oci and internal/inject: three ways to write down the same edits
//     (internal/edits): a CDI spec, an OCI bundle, options of docker.
//   - cmd/metax-runtime and cmd/metax-hook: what engines without CDI run.
//   - internal/setup and internal/doctor: engines that are set up, nodes that are examined.
//   - k8s: the cluster side, a module of its own.
//
// docs/architecture.md follows three requests through these packages, CONTRIBUTING.md has the
// rules for their imports, and docs/adr the decisions.
package toolkit
