// cel-go, measured for `python -m benchmarks.cel --go`.
//
// Reads {"now", "variables", "cases": [{"name", "text", "uses"}]} and prints, for each case, its value and the
// microseconds of processor time of one evaluation, without and with a limit of cost: the least of the rounds.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"cel.dev/cel-go/cel"
)

type task struct {
	Name string   `json:"name"`
	Text string   `json:"text"`
	Uses []string `json:"uses"`
}

type question struct {
	Now       time.Time      `json:"now"`
	Variables map[string]any `json:"variables"`
	Cases     []task         `json:"cases"`
}

type answer struct {
	Name    string  `json:"name"`
	Value   string  `json:"value"`
	Plain   float64 `json:"plain"`
	Limited float64 `json:"limited"`
}

// limit is the one of muster.
const limit = 5_000_000

func main() {
	rounds, err := strconv.Atoi(os.Args[1])
	check(err)
	var asked question
	check(json.NewDecoder(os.Stdin).Decode(&asked))
	answers := []answer{}
	for _, one := range asked.Cases {
		data := map[string]any{}
		options := []cel.EnvOption{}
		for _, name := range one.Uses {
			kind := cel.DynType
			data[name] = asked.Variables[name]
			if name == "now" {
				kind, data[name] = cel.TimestampType, asked.Now
			}
			options = append(options, cel.Variable(name, kind))
		}
		env, err := cel.NewEnv(options...)
		check(err)
		checked, issues := env.Compile(one.Text)
		check(issues.Err())
		plain, err := env.Program(checked, cel.EvalOptions(cel.OptOptimize))
		check(err)
		limited, err := env.Program(checked, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(limit))
		check(err)
		value, _, err := plain.Eval(data)
		check(err)
		found := answer{one.Name, fmt.Sprint(value.Value()), 0, 0}
		for range rounds {
			found.Plain = least(found.Plain, timed(plain, data))
			found.Limited = least(found.Limited, timed(limited, data))
		}
		answers = append(answers, found)
	}
	check(json.NewEncoder(os.Stdout).Encode(answers))
}

// timed returns the microseconds of one evaluation, garbage collection included.
func timed(program cel.Program, data map[string]any) float64 {
	const times = 20_000
	before := used()
	for range times {
		_, _, err := program.Eval(data)
		check(err)
	}
	return float64(used()-before) / times / 1e3
}

// used returns the processor time of this process in nanoseconds.
func used() int64 {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return usage.Utime.Nano() + usage.Stime.Nano()
}

func least(known, found float64) float64 {
	if known == 0 || found < known {
		return found
	}
	return known
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
