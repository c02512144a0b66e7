import Foundation
import Synchronization

/// Sends changes to a backup in segments, one after the other, while moments are taken of the same cloud.
///
/// One thread adds what changes, one sends; a third may take moments. Memory is bounded: if the place is away for so long that more gathers, the stream ends, and a moment
/// begins another one.
package final class ChangeStream: Sendable {
    /// The series of segments.
    package let series: String

    /// The state of what is sent.
    package struct Status: Hashable, Sendable {
        /// The number of the last segment that the place has confirmed; 0: none.
        package fileprivate(set) var number = 0
        /// Its digest.
        package fileprivate(set) var digest = ChangeSegment.noDigest
        /// Everything that was committed until this time is at the place, or in the moment that begins the stream. Milliseconds since 1970.
        package fileprivate(set) var time: Int64
        /// Bytes that the segments had, as stored.
        package fileprivate(set) var bytesSent: Int64 = 0
        /// Whether changes were given up: what follows cannot be applied.
        package fileprivate(set) var isBroken = false
    }

    private struct Waiting {
        var changes: StoreChanges?
        var names = ChangedNames()
        /// Everything until then is in it.
        var time: Int64

        var isEmpty: Bool { changes == nil && names == ChangedNames() }

        mutating func merge(_ later: Waiting) {
            if let more = later.changes {
                if changes == nil { changes = more } else { changes?.merge(more) }
            }
            names.merge(later.names)
            time = later.time
        }
    }

    private struct State {
        var status: Status
        var waiting: Waiting
        /// The time until which what is being sent goes; nil: nothing is.
        var sending: Int64?
    }

    private let state: Mutex<State>
    private let key: BackupKey?
    private let place: any BackupPlace
    private let bytesMax: Int

    /// Begins a series.
    ///
    /// - Parameters:
    ///   - backup: A backup that was opened with `begin`, and stays locked as long as the stream is used.
    ///   - series: A name of letters and digits that no other series has.
    ///   - time: The present, in milliseconds since 1970.
    ///   - bytesMax: The bytes of pages that wait at most.
    package init(_ backup: Backup, series: String, at time: Int64, bytesMax: Int = 64 << 20) {
        self.series = series
        self.bytesMax = bytesMax
        key = backup.key
        place = backup.place
        state = Mutex(State(status: Status(time: time), waiting: Waiting(time: time)))
    }

    /// The state of what is sent.
    package var status: Status { state.withLock { $0.status } }

    /// The milliseconds by which the place is behind the cloud.
    package func lag(at now: Int64) -> Int64 { state.withLock { max(0, now - $0.status.time) } }

    /// Adds what a look at the cloud found.
    ///
    /// - Parameters:
    ///   - changes: What changed; nil: nothing did.
    ///   - names: New files, which the changes may refer to.
    ///   - time: A time before the look.
    func add(_ changes: StoreChanges?, names: ChangedNames, at time: Int64) {
        state.withLock { state in
            if state.status.isBroken { return }
            state.waiting.merge(Waiting(changes: changes, names: names, time: time))
            if state.waiting.changes?.byteCount ?? 0 > bytesMax {
                state.status.isBroken = true
                state.waiting = Waiting(time: time)
            }
            // There is nothing that the place lacks.
            if state.waiting.isEmpty, state.sending == nil { state.status.time = time }
        }
    }

    /// Adds changes without files.
    package func add(_ changes: StoreChanges?, at time: Int64) { add(changes, names: ChangedNames(), at: time) }

    /// Gives up: what follows is not applied any more.
    package func fail() {
        state.withLock { state in
            state.status.isBroken = true
            state.waiting = Waiting(time: state.waiting.time)
        }
    }

    /// A segment on its way.
    package struct Sending: Sendable {
        fileprivate var number: Int
        fileprivate var time: Int64
        fileprivate var name: String
        fileprivate var pages: [UInt8]
        fileprivate var files: [UInt8]?
    }

    /// Returns the next segment; nil if nothing waits. It has to be sent, as often as it takes, before the next one is asked for.
    ///
    /// - Parameter contents: Puts files into the backup; if it throws, everything waits on.
    func next(contents: (ChangedNames) throws -> ChangedFiles) throws -> Sending? {
        let taken: (Waiting, Status)? = state.withLock { state in
            guard !state.waiting.isEmpty, !state.status.isBroken else { return nil }
            let waiting = state.waiting
            state.waiting = Waiting(time: waiting.time)
            state.sending = waiting.time
            return (waiting, state.status)
        }
        guard let (waiting, status) = taken else { return nil }
        do {
            let files = waiting.names == ChangedNames() ? ChangedFiles() : try contents(waiting.names)
            return try segment(waiting, files, after: status)
        } catch {
            state.withLock { state in
                var all = waiting
                all.merge(state.waiting)
                state.waiting = all
                state.sending = nil
            }
            throw error
        }
    }

    private func segment(_ waiting: Waiting, _ files: ChangedFiles, after status: Status) throws -> Sending {
        let number = status.number + 1
        var filesObject: [UInt8]?
        if files != ChangedFiles() {
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            let text = Array(try encoder.encode(files))
            let name = ChangeSegment.filesName(series, number)
            filesObject = try key?.seal(manifest: text, named: name) ?? text
        }
        let changes = waiting.changes ?? StoreChanges(pageBytes: 512, pageCount: 0, pages: [:])
        let header = ChangeSegment.Header(
            series: series, number: number, previous: status.digest, time: waiting.time,
            pageBytes: changes.pageBytes, pageCount: changes.pageCount, pages: changes.pages.keys.sorted(),
            files: filesObject.map(ChangeSegment.digest))
        let name = ChangeSegment.name(series, number, time: waiting.time)
        let bytes = try ChangeSegment(header: header, changes: changes).encoded()
        return Sending(
            number: number, time: waiting.time, name: name,
            pages: try key?.seal(changes: bytes, named: name) ?? bytes, files: filesObject)
    }

    /// Sends a segment: durable on return.
    ///
    /// - Throws: The errors of the place; then the same segment is sent again.
    package func send(_ segment: Sending) throws(BackupError) {
        try place.keepLock(isSure: false)
        if let files = segment.files { try place.put(ChangeSegment.filesName(series, segment.number), files) }
        try place.put(segment.name, segment.pages)
        state.withLock { state in
            state.sending = nil
            state.status.number = segment.number
            state.status.digest = ChangeSegment.digest(segment.pages)
            state.status.time = state.waiting.isEmpty ? max(segment.time, state.waiting.time) : segment.time
            state.status.bytesSent += Int64(segment.pages.count + (segment.files?.count ?? 0))
        }
    }
}
