/// The expected records of a client: the acknowledged ones, and those in flight when the server was killed.
struct Ledger {
    /// An expected state of a record.
    enum Held: Hashable {
        case absent
        case present(mark: Int, tag: String)

        var tag: String? {
            if case .present(_, let tag) = self { tag } else { nil }
        }
    }

    /// A record of a request with its mark afterwards, nil for a deletion.
    struct Item: Hashable {
        var name: String
        var mark: Int?
    }

    private(set) var held: [String: Held] = [:]
    /// The unanswered request.
    private(set) var underway: [Item] = []
    /// The numbers of unanswered requests that took effect, and of those that did not.
    private(set) var unansweredDone = 0
    private(set) var unansweredUndone = 0

    var names: [String] { held.keys.sorted() }

    /// The names of all records that exist or may exist.
    var touched: [String] { Set(held.keys).union(underway.map(\.name)).sorted() }

    mutating func begin(_ items: [Item]) { underway = items }

    /// Records an acknowledgement.
    ///
    /// - Returns: Its violations.
    mutating func acknowledge(_ records: [AnsweredRecord]) -> [String] {
        defer { underway = [] }
        guard records.count == underway.count else { return ["\(underway.count) items, \(records.count) answers"] }
        var faults: [String] = []
        for (item, record) in zip(underway, records) {
            if let code = record.serverErrorCode {
                faults.append("\(item.name) was refused: \(code) \(record.reason ?? "")")
            } else if record.recordName != item.name {
                faults.append("the answer for \(item.name) names \(record.recordName)")
            } else if let mark = item.mark {
                guard let tag = record.recordChangeTag else {
                    faults.append("\(item.name) came back without a change tag")
                    continue
                }
                held[item.name] = .present(mark: mark, tag: tag)
            } else {
                held[item.name] = nil
            }
        }
        return faults
    }

    /// Compares with a lookup of `touched`, and determines the outcome of the unanswered request.
    ///
    /// - Returns: The violations: missing acknowledged saves, a partial batch.
    mutating func reconcile(with found: [String: Held]) -> [String] {
        var faults: [String] = []
        let unknown = Set(underway.map(\.name))
        for (name, expected) in held where !unknown.contains(name) && found[name] != expected {
            faults.append("\(name) was acknowledged as \(expected) and is \(found[name] ?? .absent)")
        }
        var done: [String] = []
        var undone: [String] = []
        for item in underway {
            let now = found[item.name] ?? .absent
            switch (item.mark, now) {
            case (let mark?, .present(let there, _)) where there == mark: done.append(item.name)
            case (nil, .absent): done.append(item.name)
            case _ where now == held[item.name] ?? .absent: undone.append(item.name)
            default: faults.append("\(item.name) is \(now), neither what it was nor what was sent")
            }
        }
        if !done.isEmpty && !undone.isEmpty {
            faults.append("a batch is half there: \(done.count) items took effect, \(undone.count) did not")
        }
        if !done.isEmpty { unansweredDone += 1 }
        if !undone.isEmpty { unansweredUndone += 1 }
        for name in done { held[name] = found[name] == .absent ? nil : found[name] }
        underway = []
        return faults
    }
}
