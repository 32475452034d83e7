// SPDX-License-Identifier: Apache-2.0

package peer

// KunlunxinScore returns Kunlunxin's score of a node for a job that changes MTF, the number
// of jobs that fill the node, by jobs: 2000 for one fewer, 1000 for as many, 0 for one more
// and -1000 for two more. Kunlunxin's table has no score for two fewer; the steps go on.
func KunlunxinScore(jobs int) int { return 1000 - 1000*jobs }

// HAMiKunlunxinScore returns the score of HAMi's copy of the table, which is higher by 1000:
// 3000, 2000, 1000 and 0. There, a job that saves two gets the score of one that costs one.
// Here it gets 4000.
func HAMiKunlunxinScore(jobs int) int { return KunlunxinScore(jobs) + 1000 }

// Kunlunxin has Kunlunxin's numbers for a job on a node, and HAMi's copy of the score.
type Kunlunxin struct {
	Jobs  int `json:"jobs"`
	Score int `json:"score"`
	HAMi  int `json:"hami"`
}

// NewKunlunxin returns the numbers for a job that changes MTF by jobs.
func NewKunlunxin(jobs int) Kunlunxin {
	return Kunlunxin{Jobs: jobs, Score: KunlunxinScore(jobs), HAMi: HAMiKunlunxinScore(jobs)}
}
