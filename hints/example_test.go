// SPDX-License-Identifier: Apache-2.0

package hints_test

import (
	"fmt"
	"os"

	"github.com/predictio/predictio/hints"
)

// printer is a Sink that prints what it is told.
type printer struct{}

func (printer) Emit(e hints.Event) hints.Advice {
	if w, ok := e.(*hints.WillNeed); ok {
		for _, x := range w.Extents {
			fmt.Printf("will need bytes %d to %d\n", x.Off, x.End())
		}
	}
	return hints.Advice{}
}

// A program says which parts of a file it is about to read.
func ExampleSink() {
	f, err := os.CreateTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.Remove(f.Name())
	file, err := hints.Register(f)
	f.Close() // the registered file has a descriptor of its own
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Release()

	var sink hints.Sink = printer{}
	sink.Emit(&hints.WillNeed{Extents: []hints.Extent{
		{File: file, Off: 0, Len: 4096},
		{File: file, Off: 65536, Len: 8192},
	}})
	// Output:
	// will need bytes 0 to 4096
	// will need bytes 65536 to 73728
}

// Not everything can be registered.
func ExampleOpen() {
	_, err := hints.Open(os.TempDir())
	fmt.Println(err != nil)
	// Output: true
}

// ExampleChildList shows the children of a walk whose order is known beforehand.
func ExampleChildList() {
	var file hints.File // a real one comes from Open or Register
	children := hints.ChildList{
		{File: &file, Off: 8192, Len: 4096},
		{File: &file, Off: 4096, Len: 4096},
	}
	for i := 0; ; i++ {
		x, ok := children.Child(i)
		if !ok {
			break
		}
		fmt.Println(i, x.Off)
	}
	// Output:
	// 0 8192
	// 1 4096
}

// An extent that could name no byte is empty, whatever made it so.
func ExampleExtent_Empty() {
	var file hints.File
	fmt.Println(hints.Extent{}.Empty())
	fmt.Println(hints.Extent{File: &file, Off: 0, Len: 1}.Empty())
	fmt.Println(hints.Extent{File: &file, Off: 1, Len: 1<<63 - 1}.Empty())
	// Output:
	// true
	// false
	// true
}
