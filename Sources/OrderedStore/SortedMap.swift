/// Values by key, in key order: a value type whose copies share what neither has changed.
///
/// A list of runs, which are short lists of chunks. Changing a copy costs one chunk, the list of a run's chunks, and the list of runs, so
/// that millions of entries take little more than thousands do.
package struct SortedMap<Value: Sendable>: Sendable {
    /// None is empty.
    private var runs: [SortedRun<Value>] = []
    /// For each run its first key at some time: behind all of the run before it. Keys before the first one are in the first run.
    private var starts = SortedKeys()
    /// The number of entries.
    package private(set) var count = 0

    /// Creates an empty map.
    package init() {}

    /// Whether there are no entries.
    package var isEmpty: Bool { count == 0 }

    /// The value under `key`; nil where there is none, and to remove it.
    package subscript(key: Bytes) -> Value? {
        get { runs.isEmpty ? nil : runs[run(for: key)][key] }
        set {
            if runs.isEmpty {
                if newValue == nil { return }
                runs.append(SortedRun())
                starts.insert(key, at: 0)
            }
            let index = run(for: key)
            change(at: index) { $0[key] = newValue }
            if newValue != nil, let upper = runs[index].takeUpperHalf(), let start = upper.start {
                if index == 0, let first = runs[0].start { starts.replaceFirst(by: first) }
                runs.insert(upper, at: index + 1)
                starts.insert(start, at: index + 1)
            }
        }
    }

    /// The first `limit` entries of `range` in key order, or from its end when `reverse`.
    package func entries(
        in range: KeyRange, limit: Int = .max, reverse: Bool = false
    ) -> [(key: Bytes, value: Value)] {
        let indices = runs(in: range)
        guard let first = indices.first else { return [] }
        if indices.count == 1 { return runs[first].entries(in: range, limit: limit, reverse: reverse) }
        var found: [(key: Bytes, value: Value)] = []
        for index in reverse ? Array(indices.reversed()) : Array(indices) where found.count < limit {
            found += runs[index].entries(in: range, limit: limit - found.count, reverse: reverse)
        }
        return found
    }

    /// Calls `body` with each entry in key order.
    package func visit<Failure: Error>(_ body: (Bytes, Value) throws(Failure) -> Void) throws(Failure) {
        for run in runs { try run.visit(body) }
    }

    /// Returns whether there is a key in `range`.
    package func holdsKey(in range: KeyRange) -> Bool {
        // A range that begins behind the last key of its run goes on with the first one of the next.
        runs(in: range).prefix(2).contains { runs[$0].holdsKey(in: range) }
    }

    /// Removes all entries whose keys are in a range.
    package mutating func removeAll(in range: KeyRange) {
        if range.isEmpty { return }
        // From the back, so that indices stay good.
        for index in runs(in: range).reversed() { change(at: index) { $0.removeAll(in: range) } }
    }

    /// Changes a run in place, and removes it when nothing is left of it.
    private mutating func change(at index: Int, _ body: (inout SortedRun<Value>) -> Void) {
        let before = runs[index].count
        body(&runs[index])
        count += runs[index].count - before
        if runs[index].isEmpty {
            runs.remove(at: index)
            starts.remove(at: index)
        }
    }

    /// The last run that begins at or before `key`, or the first of all.
    private func run(for key: Bytes) -> Int {
        max(starts.count(notBehind: key) - 1, 0)
    }

    /// The runs that may have keys of a range.
    private func runs(in range: KeyRange) -> Range<Int> {
        if runs.isEmpty { return 0..<0 }
        let first = run(for: range.lower)
        return first..<(max(first, run(for: range.upper)) + 1)
    }
}
