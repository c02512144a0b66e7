import CFaultyFiles
import OrderedStore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A way in which the files or the memory of SQLite fail.
struct Fault: Sendable {
    let name: String
    let kinds: Int
    let error: Int32
    var manner = FAULTY_FAILS
    /// Whether the engine must not notice it.
    var isHarmless = false
    /// Whether it can last: a call that is interrupted again and again never ends.
    var canPersist = true
    /// The codes of errors that it may cause.
    var codes: Set<StoreError.Code> = [.unavailable]
    /// Words that its errors say, in reason or remedy.
    var word: String?

    static let all: [Fault] = [
        Fault(name: "unreadable", kinds: FAULTY_READ, error: EIO, codes: [.unavailable, .corrupt]),
        Fault(name: "unwritable", kinds: FAULTY_WRITE, error: EIO),
        Fault(
            name: "full", kinds: FAULTY_WRITE | FAULTY_TRUNCATE, error: ENOSPC, codes: [.diskFull],
            word: "disk is full"),
        Fault(
            name: "short-then-full", kinds: FAULTY_WRITE, error: ENOSPC, manner: FAULTY_SHORT_THEN_FAILS,
            codes: [.diskFull], word: "disk is full"),
        Fault(
            name: "short", kinds: FAULTY_READ | FAULTY_WRITE, error: 0, manner: FAULTY_SHORT, isHarmless: true),
        Fault(
            name: "interrupted", kinds: FAULTY_OPEN | FAULTY_READ | FAULTY_WRITE | FAULTY_TRUNCATE, error: EINTR,
            isHarmless: true, canPersist: false),
        Fault(name: "too-many-files", kinds: FAULTY_OPEN, error: EMFILE, word: "open files"),
        Fault(name: "unsynced", kinds: FAULTY_SYNC, error: EIO),
        Fault(name: "unlockable", kinds: FAULTY_LOCK, error: EIO, codes: [.unavailable, .busy]),
        Fault(
            name: "any",
            kinds: FAULTY_OPEN | FAULTY_READ | FAULTY_WRITE | FAULTY_TRUNCATE | FAULTY_SYNC | FAULTY_MAP
                | FAULTY_STATUS | FAULTY_DELETE | FAULTY_LOCK, error: EIO,
            codes: [.unavailable, .corrupt, .busy]),
        Fault(name: "memory", kinds: FAULTY_MEMORY, error: ENOMEM, word: "memory"),
    ]

    /// The problem with an error that the fault caused; nil for one that fits.
    func problem(with error: any Error) -> String? {
        if isHarmless { return "an error where none was expected: \(error)" }
        guard let error = error as? StoreError else { return "not a StoreError: \(error)" }
        if !codes.contains(error.code) { return "an error of another kind, \(error.code): \(error)" }
        let isLost = error.reason.contains("ended by a failure")
        if let word, !isLost, !error.description.contains(word) { return "an error that does not say it: \(error)" }
        return nil
    }
}
