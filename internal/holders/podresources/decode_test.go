// SPDX-License-Identifier: Apache-2.0

package podresources

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
)

// message writes fields: a string or a message (bytes) under a number, or a number (int).
func message(fields ...any) (data []byte) {
	for i := 0; i < len(fields); i += 2 {
		field := protowire.Number(fields[i].(int))
		switch v := fields[i+1].(type) {
		case int:
			data = protowire.AppendVarint(protowire.AppendTag(data, field, protowire.VarintType), uint64(v))
		case string:
			data = protowire.AppendString(protowire.AppendTag(data, field, protowire.BytesType), v)
		case []byte:
			data = protowire.AppendBytes(protowire.AppendTag(data, field, protowire.BytesType), v)
		}
	}
	return data
}

// published is an answer with two pods: one container with GPUs of two NUMA nodes and a
// network card, one without a device, and one with a GPU.
func published() []byte {
	numa := func(n int) []byte { return message(1, message(1, n)) }
	gpus := func(n int, ids ...string) []byte {
		m := message(1, "metax-tech.com/gpu")
		for _, id := range ids {
			m = append(m, message(2, id)...)
		}
		return append(m, message(3, numa(n))...)
	}
	return message(
		1, message(1, "trainer", 2, "team",
			3, message(1, "main", 2, gpus(0, "GPU-0", "GPU-1"), 2, gpus(1, "GPU-2"), 2, message(1, "rdma/hca", 2, "mlx5_0"), 3, 17, 4, message(1, "memory", 2, 4096)),
			3, message(1, "sidecar", 3, 18)),
		1, message(1, "infer", 2, "default", 3, message(1, "main", 2, gpus(1, "GPU-3"))),
	)
}

var publishedContainers = []Container{
	{Namespace: "team", Pod: "trainer", Name: "main", Devices: map[string][]string{"metax-tech.com/gpu": {"GPU-0", "GPU-1", "GPU-2"}, "rdma/hca": {"mlx5_0"}}},
	{Namespace: "default", Pod: "infer", Name: "main", Devices: map[string][]string{"metax-tech.com/gpu": {"GPU-3"}}},
}

func TestDecode(t *testing.T) {
	whole := published()
	for _, test := range []struct {
		name string
		data []byte
		want []Container
		fail bool
	}{
		{"two pods", whole, publishedContainers, false},
		{"no pod", nil, nil, false},
		{"an unknown field", append(message(9, "later", 10, 3), whole...), publishedContainers, false},
		{"a cut message", whole[:len(whole)-1], publishedContainers[:1], true},
		{"not a message", []byte("HTTP/1.1 400 Bad Request"), nil, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := decodeListResponse(test.data)
			if (err != nil) != test.fail {
				t.Errorf("the error is %v", err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" && !test.fail {
				t.Error(diff)
			}
		})
	}
}

// FuzzDecode reads any bytes without a panic, and names only what they have.
func FuzzDecode(f *testing.F) {
	f.Add(published())
	f.Add([]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Add([]byte{0x0b})
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := decodeListResponse(data)
		size := 0
		for _, c := range list {
			if len(c.Devices) == 0 {
				t.Errorf("container %q without devices", c.Name)
			}
			size += len(c.Name)
			for _, ids := range c.Devices {
				for _, id := range ids {
					size += len(id)
				}
			}
		}
		if err == nil && size > len(data) {
			t.Errorf("%d bytes of names out of %d", size, len(data))
		}
	})
}
