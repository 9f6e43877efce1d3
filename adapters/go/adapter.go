// The adapter for Go: channels, mutexes and conditions between two goroutines that are locked to their threads. ADAPTERS.md
// has the protocol.
package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
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
	id, kind, name string
	options        map[string]string
	count          int
	timed          bool
	numbers        [1024]uint32
	events         []int64
	good, sum      uint64
	begun, ended   [2]int64
}

func (p *pass) option(key string) int {
	value, _ := strconv.Atoi(p.options[key])
	return value
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

// queue is a channel: role 0 sends, role 1 receives.
func queue[T any](p *pass, capacity int, compose func(uint32) T, read func(T) uint32) [2]func() {
	channel := make(chan T, capacity)
	return [2]func(){func() {
		for k := range p.count {
			channel <- compose(p.numbers[k%1024])
		}
	}, func() {
		p.receive(func(int) uint32 { return read(<-channel) })
	}}
}

// turn has a number beside it on the same line; odd turns are role 1's.
type turn struct {
	_              [256]byte // x86 fetches lines in pairs, some Arm cores have lines of 128 bytes: nothing comes near
	at             atomic.Int32
	number, answer uint32
	_              [256]byte
}

func (t *turn) await(wanted int) {
	for t.at.Load() != int32(wanted) {
	}
}

func wait(p *pass) [2]func() {
	t := new(turn)
	return [2]func(){func() {
		before := now()
		p.receive(func(k int) uint32 {
			t.number = p.numbers[k%1024]
			t.at.Store(int32(2*k + 1))
			t.await(2*k + 2)
			if p.timed {
				p.events[k] = now() - before
				before = now()
			}
			return t.answer
		})
	}, func() {
		for k := range p.count {
			t.await(2*k + 1)
			t.answer = t.number
			t.at.Store(int32(2*k + 2))
		}
	}}
}

// primitive is what role 0 does before a round (it may have to hold a lock), what it calls with, and how role 1 sleeps.
type primitive struct {
	arm, call func()
	sleep     func(round int)
}

func nothing() {}

func byChannel() primitive {
	c := make(chan struct{})
	return primitive{nothing, func() { c <- struct{}{} }, func(int) { <-c }}
}

func byMutex() primitive {
	var m sync.Mutex
	return primitive{m.Lock, m.Unlock, func(int) { m.Lock(); m.Unlock() }}
}

func byCond() primitive {
	c, called := sync.NewCond(new(sync.Mutex)), 0
	return primitive{nothing, func() { c.L.Lock(); called++; c.L.Unlock(); c.Signal() }, func(round int) {
		c.L.Lock()
		for called < round {
			c.Wait()
		}
		c.L.Unlock()
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

func wake(p *pass, w primitive) [2]func() {
	var armed, waits, over atomic.Int32
	var wentOn int64
	var number uint32
	return [2]func(){func() {
		gap := float64(p.option("gap_ns"))
		for k := range p.count {
			w.arm()
			armed.Store(int32(k + 1))
			until(&waits, k+1)
			length, began := int64(gap*(0.75+float64(p.numbers[k%1024])/(1<<25))), now()
			for now()-began < length {
			}
			number, began = p.numbers[k%1024], now()
			w.call()
			until(&over, k+1)
			if p.timed {
				p.events[k] = max(wentOn-began, 0)
			}
		}
	}, func() {
		p.receive(func(k int) uint32 {
			until(&armed, k+1)
			waits.Store(int32(k + 1))
			w.sleep(k + 1)
			wentOn = now()
			number := number
			over.Store(int32(k + 1))
			return number
		})
	}}
}

// ---- the protocol
func subject(p *pass) func() [2]func() {
	capacity := p.option("capacity")
	return map[string]func() [2]func(){
		"queue channel u64":               func() [2]func() { return queue(p, capacity, number, number) },
		"queue channel string":            func() [2]func() { return queue(p, capacity, text, parsed) },
		"queue unbuffered-channel u64":    func() [2]func() { return queue(p, 0, number, number) },
		"queue unbuffered-channel string": func() [2]func() { return queue(p, 0, text, parsed) },
		"wait busy ":                      func() [2]func() { return wait(p) },
		"wake channel ":                   func() [2]func() { return wake(p, byChannel()) },
		"wake mutex ":                     func() [2]func() { return wake(p, byMutex()) },
		"wake cond ":                      func() [2]func() { return wake(p, byCond()) },
	}[strings.Join([]string{p.kind, p.name, p.options["payload"]}, " ")]
}

var leave = make(chan struct{})

func perform(line string, in *bufio.Reader, out *bufio.Writer) {
	close(leave)
	words := strings.Fields(line)
	p := &pass{id: words[1], kind: words[2], name: words[3], options: map[string]string{}}
	for _, word := range words[4:] {
		key, value, _ := strings.Cut(word, "=")
		p.options[key] = value
	}
	p.count, p.timed = p.option("count"), p.option("events") == 1
	if p.timed {
		p.events = make([]int64, p.count)
	}
	x := uint32(p.option("seed"))
	for i := range p.numbers {
		x = 1664525*x + 1013904223
		p.numbers[i] = x >> 8
	}
	leave = make(chan struct{})
	begin := subject(p)
	if begin == nil {
		fmt.Fprintf(out, "error there is no %s of this name, payload and capacity\n", p.kind)
		return
	}
	roles := begin()
	var tids [2]string
	var there atomic.Int32
	var named, over sync.WaitGroup
	goAhead, end := make(chan struct{}), leave
	named.Add(2)
	over.Add(2)
	for me := range 2 {
		go func() {
			// Never unlocked: the thread, which the host binds, ends with the role.
			runtime.LockOSThread()
			link, _ := os.Readlink("/proc/thread-self") // "PID/task/TID"
			tids[me] = filepath.Base(link)
			named.Done()
			<-goAhead // asleep until the host has pinned both
			there.Add(1)
			until(&there, 2)
			p.begun[me] = now()
			roles[me]()
			p.ended[me] = now()
			over.Done()
			<-end // the host asks afterwards what this thread used
		}()
	}
	named.Wait()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fmt.Fprintf(out, "role 0 %s\nrole 1 %s\n", tids[0], tids[1])
	out.Flush()
	if _, err := in.ReadString('\n'); err != nil {
		os.Exit(0)
	}
	close(goAhead)
	over.Wait()
	fmt.Fprintf(out, "ns %d\n", max(p.ended[0], p.ended[1])-p.begun[0])
	out.Flush() // the host holds its own clock against it
	runtime.ReadMemStats(&after)
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
	fmt.Fprintf(out, "done %s\n", p.id)
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	switch strings.Join(os.Args[1:], " ") {
	case "describe":
		fmt.Fprintf(out, "coretalk-adapter 1\nruntime %s\n", runtime.Version())
		fmt.Fprint(out, "queue channel payload=u64,string capacity=1..16777216\n",
			"queue unbuffered-channel payload=u64,string capacity=1\n", // one at most is under way
			"wait busy\nwake channel,mutex,cond\n")
	case "serve":
		in := bufio.NewReader(os.Stdin)
		for line, err := in.ReadString('\n'); err == nil; line, err = in.ReadString('\n') {
			perform(line, in, out)
			out.Flush()
		}
	default:
		fmt.Fprintln(os.Stderr, "usage: adapter describe|serve")
		os.Exit(2)
	}
}
