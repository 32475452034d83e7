package assign

import (
	"errors"
	"fmt"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// calm is the shortest time between two lines about a wait, unless its place has changed.
const calm = 10 * time.Second

// waiting returns a function that notes where a request of the plan stands that waits for at
// most so long: at first, and when that has changed.
func (k Keeper) waiting(p *Plan, most time.Duration) func(lease.Progress) {
	var last lease.Progress
	said := ""
	return func(now lease.Progress) {
		text := p.standing(now)
		switch {
		case said == "":
			k.config.Note(fmt.Sprintf("waiting up to %s, %s", most, text))
		case text == said || now.Before == last.Before && now.Waited-last.Waited < calm:
			return
		default:
			k.config.Note(fmt.Sprintf("waited %s of %s, %s", now.Waited.Round(time.Second), most, text))
		}
		last, said = now, text
	}
}

// standing says which place a request has, what it lacks, and who uses the GPUs.
func (p *Plan) standing(now lease.Progress) string {
	var queued *lease.QueueError
	var held *lease.HeldError
	text := "next in line"
	if errors.As(now.Err, &queued) {
		text = wording.Count(queued.Waiting, "request") + " ahead"
	} else {
		text += ": " + now.Err.Error()
	}
	if errors.As(now.Err, &held) {
		return text
	}
	if users := p.users(now.Holders, p.Node.Healthy()); len(users) > 0 {
		text += "; in use: " + wording.Some(users, maxUsers)
	}
	return text
}
