// SPDX-License-Identifier: Apache-2.0

// Package nodescore judges how well nodes suit the GPUs that a pod requests: which node a
// scheduler should take, and why. It is pure: what is known of nodes and pods comes in as
// values, also the time.
//
// A node is judged by the first of these that is known of it:
//
//   - its key: what the picker of package alloc would give the pod of the GPUs that are free
//     by the annotations of metax-gpu-device, and what the node loses by that;
//   - its values: the score and the loss that the vendor's annotations have for the number of
//     GPUs;
//   - counts: how many GPUs pods request, as kube-scheduler counts. Such a node is not
//     preferred.
//
// kube-scheduler itself keeps pods from nodes whose GPUs are all requested. So a node is
// refused here only for what the scheduler does not see: GPUs that are unhealthy or in use by
// others than pods before the kubelet has told so, and the rules of a policy.
//
// Package extender asks it for a scheduler, and kubectl metax why for a person.
package nodescore
