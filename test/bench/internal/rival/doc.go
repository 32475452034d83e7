// Package rival puts the picker beside other allocators of GPUs that can be had as Go
// modules: the same links, the same free GPUs, the same number requested. It measures what
// a pick takes and judges what comes out, by their aim and by ours.
//
// It writes no page, and it knows no allocator's insides but one: how much work NVIDIA's
// best-effort policy is given by a question, because that has to be known before it is asked.
package rival
