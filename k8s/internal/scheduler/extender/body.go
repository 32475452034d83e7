// SPDX-License-Identifier: Apache-2.0

package extender

import (
	"container/list"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// budget bounds what all questions have in memory. When it is used up, the question that has
// been sent for the longest time has to go: a scheduler sends its own in milliseconds, so
// those who send slowly do not keep it out.
type budget struct {
	limit int64

	mu     sync.Mutex
	used   int64
	bodies list.List // of *body, the oldest first
	spare  sync.Pool // of *[]byte: the memory of questions that are answered
}

// body is a question that is read.
type body struct {
	from   io.Reader
	length int64 // -1 if the client does not say
	most   int64
	budget *budget
	ctx    context.Context // ends when the question has to go
	cancel context.CancelFunc
	stop   func() // ends ctx, and a read that waits for the client

	// Of the budget's lock.
	mine  int64
	place *list.Element // nil once it has to go

	memory *[]byte // of the text
}

// openBody counts a question of at most the given size.
func (b *budget) openBody(w http.ResponseWriter, r *http.Request, most int64) *body {
	ctx, cancel := context.WithCancel(r.Context())
	q := &body{
		from: http.MaxBytesReader(w, r.Body, most), length: r.ContentLength, most: most, budget: b, ctx: ctx,
		cancel: cancel, stop: func() {
			cancel()
			// where that is not known, the server's time ends it
			_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
		},
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	q.place = b.bodies.PushBack(q)
	return q
}

// take counts bytes of a question, and reports whether it may have them.
func (b *budget) take(q *body, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	q.mine += n
	b.used += n
	for b.used > b.limit && q.place != nil {
		oldest := b.bodies.Front().Value.(*body)
		b.drop(oldest)
		oldest.stop()
	}
	return q.place != nil
}

// drop no longer counts a question. The caller has the lock.
func (b *budget) drop(q *body) {
	if q.place != nil {
		b.bodies.Remove(q.place)
		b.used -= q.mine
		q.place, q.mine = nil, 0
	}
}

// releaseBudget no longer counts the question, which is answered. Its text must not be used
// afterwards: the memory goes to the next question.
func (q *body) releaseBudget() {
	if q.memory != nil {
		q.budget.spare.Put(q.memory)
	}
	defer q.cancel()
	q.budget.mu.Lock()
	defer q.budget.mu.Unlock()
	q.budget.drop(q)
}

// readText returns the text of the question. The code is that of the error.
func (q *body) readText() (text []byte, code int, err error) {
	if q.length > q.most {
		return nil, http.StatusRequestEntityTooLarge, errTooLarge
	}
	for err == nil {
		if len(text) == cap(text) {
			// what the client says, once it sends
			more := max(firstRead, len(text), min(int(q.length)+1-len(text), len(text)<<10))
			if !q.budget.take(q, int64(more)) {
				break
			}
			text = q.growText(text, len(text)+more)
		}
		var n int
		n, err = q.from.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
	}
	tooLarge := (*http.MaxBytesError)(nil)
	switch {
	case q.ctx.Err() != nil:
		return nil, http.StatusServiceUnavailable, errBusy
	case errors.As(err, &tooLarge):
		return nil, http.StatusRequestEntityTooLarge, errTooLarge
	case err != io.EOF:
		return nil, http.StatusBadRequest, err
	}
	return text, http.StatusOK, nil
}

// growText returns the text with room for so many bytes.
func (q *body) growText(text []byte, size int) []byte {
	if size <= firstRead {
		return make([]byte, 0, size)
	}
	if q.memory == nil || len(*q.memory) < size {
		spare, _ := q.budget.spare.Get().(*[]byte)
		if spare != nil && len(*spare) > 2*size { // the budget counts size alone
			q.budget.spare.Put(spare)
			spare = nil
		}
		if spare == nil || len(*spare) < size {
			spare = new(make([]byte, size))
		}
		copy(*spare, text)
		if q.memory != nil {
			q.budget.spare.Put(q.memory)
		}
		q.memory = spare
	}
	return (*q.memory)[:len(text):size]
}

// firstRead is the size of the first part of a question that is read.
const firstRead = 4 << 10

var errTooLarge = errors.New("the question is too large: raise --max-body, or set nodeCacheCapable to true for kube-scheduler")
