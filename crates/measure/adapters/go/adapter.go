// The adapter for Go: channels, mutexes and conditions between two goroutines. docs/adapters.md has the protocol.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// pass is what is asked for, and what its roles say.
type pass struct {
	options   map[string]int
	count     int
	timed     bool
	numbers   [1024]uint32
	events    []int64
	good, sum uint64
}

var start = time.Now()

// now reads the clock that does not jump, in nanoseconds.
func now() int64 { return int64(time.Since(start)) }

// receive takes a number for each operation, and counts those that are right.
func (p *pass) receive(take func(k int) uint32) {
	var good, sum uint64
	for k := range p.count {
		number := take(k)
		if number == p.numbers[k%1024] {
			good++
		}
		sum += uint64(number)
	}
	p.good, p.sum = good, sum
}

func number(n uint32) uint32 { return n }
func text(n uint32) string   { return strconv.FormatUint(uint64(n), 10) }
func parsed(s string) uint32 { n, _ := strconv.ParseUint(s, 10, 32); return uint32(n) }

// queue is a channel: role 0 sends, role 1 receives. Through an unbuffered one, of 0 places, one at most is under way.
func queue[T any](p *pass, capacity int, compose func(uint32) T, read func(T) uint32) [2]func() {
	channel := make(chan T, capacity)
	return [2]func(){func() {
		for k := range p.count {
			channel <- compose(p.numbers[k%1024])
		}
	}, func() { p.receive(func(int) uint32 { return read(<-channel) }) }}
}

// turn has a number beside it on the same line; odd turns are role 1's.
type turn struct {
	_              [256]byte // x86 fetches lines in pairs, some Arm cores have lines of 128 bytes: nothing comes near
	at             atomic.Int32
	number, answer uint32
	_              [256]byte
}

func wait(p *pass) [2]func() {
	t := new(turn)
	return [2]func(){func() {
		before := now()
		p.receive(func(k int) uint32 {
			t.number = p.numbers[k%1024]
			t.at.Store(int32(2*k + 1))
			for t.at.Load() != int32(2*k+2) {
			}
			if p.timed {
				p.events[k] = now() - before
				before = now()
			}
			return t.answer
		})
	}, func() {
		for k := range p.count {
			for t.at.Load() != int32(2*k+1) {
			}
			t.answer = t.number
			t.at.Store(int32(2*k + 2))
		}
	}}
}

// until looks for what the other role says, and lets it in where both share a CPU.
func until(value *atomic.Int32, wanted int) {
	for polls := 0; value.Load() != int32(wanted); polls++ {
		if polls > 1000 {
			// The other role may wait for the processor of this goroutine, or for the CPU of this thread. A loop around
			// the system call alone is never preempted: the scheduler interrupts no thread inside one.
			runtime.Gosched()
			syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0)
		}
	}
}

// wake has what role 0 does before a round (it may have to hold a lock), what it calls with, and how role 1 sleeps.
func wake(p *pass, arm, call func(), sleep func(round int)) [2]func() {
	var armed, waits, over atomic.Int32
	var wentOn int64
	var number uint32
	return [2]func(){func() {
		gap := float64(p.options["gap_ns"])
		for k := range p.count {
			arm()
			armed.Store(int32(k + 1))
			until(&waits, k+1)
			length, began := int64(gap*(0.75+float64(p.numbers[k%1024])/(1<<25))), now()
			for now()-began < length {
			}
			number, began = p.numbers[k%1024], now()
			call()
			until(&over, k+1)
			if p.timed {
				p.events[k] = max(wentOn-began, 0)
			}
		}
	}, func() {
		p.receive(func(k int) uint32 {
			until(&armed, k+1)
			waits.Store(int32(k + 1))
			sleep(k + 1)
			wentOn = now()
			number := number
			over.Store(int32(k + 1))
			return number
		})
	}}
}

// ---- the protocol
var subjects = map[string]func(p *pass) [2]func(){
	"queue channel u64":               func(p *pass) [2]func() { return queue(p, p.options["capacity"], number, number) },
	"queue channel string":            func(p *pass) [2]func() { return queue(p, p.options["capacity"], text, parsed) },
	"queue unbuffered-channel u64":    func(p *pass) [2]func() { return queue(p, 0, number, number) },
	"queue unbuffered-channel string": func(p *pass) [2]func() { return queue(p, 0, text, parsed) },
	"wait busy":                       wait,
	"wake channel": func(p *pass) [2]func() {
		c := make(chan struct{})
		return wake(p, func() {}, func() { c <- struct{}{} }, func(int) { <-c })
	},
	"wake mutex": func(p *pass) [2]func() {
		var m sync.Mutex
		return wake(p, m.Lock, m.Unlock, func(int) { m.Lock(); m.Unlock() })
	},
	"wake cond": func(p *pass) [2]func() {
		c, called := sync.NewCond(new(sync.Mutex)), 0
		return wake(p, func() {}, func() { c.L.Lock(); called++; c.L.Unlock(); c.Signal() }, func(round int) {
			c.L.Lock()
			for called < round {
				c.Wait()
			}
			c.L.Unlock()
		})
	},
}

func perform(line string, in *bufio.Reader) {
	words := strings.Fields(line)
	thing, p := words[2]+" "+words[3], &pass{options: map[string]int{}}
	for _, word := range words[4:] {
		key, value, _ := strings.Cut(word, "=")
		p.options[key], _ = strconv.Atoi(value)
		if key == "payload" {
			thing += " " + value
		}
	}
	p.count, p.timed = p.options["count"], p.options["events"] == 1
	p.events = make([]int64, p.count*p.options["events"])
	x := uint32(p.options["seed"])
	for i := range p.numbers {
		x = 1664525*x + 1013904223
		p.numbers[i] = x >> 8
	}
	subject := subjects[thing]
	if subject == nil {
		fmt.Printf("error there is no %s\n", thing)
		return
	}
	roles := subject(p)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var begun [2]int64
	var there atomic.Int32
	goAhead, over, end := make(chan struct{}), make(chan int64, 2), make(chan struct{})
	for me := range 2 {
		go func() {
			// Never unlocked: the thread, which the host binds, ends with the role.
			runtime.LockOSThread()
			fmt.Printf("role %d %d\n", me, syscall.Gettid())
			<-goAhead // asleep until the host has pinned both
			there.Add(1)
			until(&there, 2)
			begun[me] = now()
			roles[me]()
			over <- now()
			<-end
		}()
	}
	if _, err := in.ReadString('\n'); err != nil {
		os.Exit(0)
	}
	close(goAhead)
	ended := max(<-over, <-over)
	fmt.Printf("ns %d\n", ended-begun[0]) // at once: the host holds its own clock against it
	runtime.ReadMemStats(&after)
	out := bufio.NewWriter(os.Stdout)
	fmt.Fprintf(out, "count %d\nsum %d\nnote gc %d\n", p.good, p.sum, after.NumGC-before.NumGC)
	times := map[int64]int{}
	for _, ns := range p.events {
		times[ns]++
	}
	for ns, count := range times {
		fmt.Fprintf(out, "events %d:%d\n", ns, count)
	}
	if p.timed {
		began := now()
		for range 999 {
			now()
		}
		fmt.Fprintf(out, "note clock_ns %d\n", (now()-began)/1000)
	}
	fmt.Fprintf(out, "done %s\n", words[1])
	out.Flush()
	in.Peek(1) // the host asks afterwards what these threads used
	close(end)
}

func main() {
	switch strings.Join(os.Args[1:], " ") {
	case "describe":
		fmt.Printf("coretalk-adapter 1\nruntime %s\nqueue channel payload=u64,string capacity=1..16777216\n"+
			"queue unbuffered-channel payload=u64,string capacity=1\nwait busy\nwake channel,mutex,cond\n", runtime.Version())
	case "serve":
		in := bufio.NewReader(os.Stdin)
		for line, err := in.ReadString('\n'); err == nil; line, err = in.ReadString('\n') {
			perform(line, in)
		}
	default:
		fmt.Fprintln(os.Stderr, "usage: adapter describe|serve")
		os.Exit(2)
	}
}
