import CloudUnderTest
import SeededChance

/// A client that creates, changes and deletes its own records, one request at a time, and increments a shared counter.
struct Writer {
    let name: String
    let zone: String
    private(set) var ledger = Ledger()
    /// The violations found in answers.
    private(set) var faults: [String] = []
    private(set) var acknowledged = 0
    /// The acknowledged increments of the zone's shared counter, and those with an unknown outcome.
    private(set) var counted = 0
    private(set) var countedPerhaps = 0
    private(set) var conflicts = 0

    private var chance: SplitMix64
    private var nextMark = 1
    private var nextName = 1
    private var awaiting = Awaiting.nothing

    private enum Awaiting: Hashable {
        case nothing, records
        case counterRead
        case counterSaved
    }

    static let counterName = "counter"
    private static let recordsMax = 60
    private static let batchMax = 20

    init(name: String, zone: String, seed: UInt64) {
        self.name = name
        self.zone = zone
        chance = SplitMix64(seed: seed)
    }

    /// Returns the next request of this client.
    mutating func next(_ user: SignedInUser) -> RawRequest {
        if chance.next(upperBound: UInt(8)) == 0 {
            awaiting = .counterRead
            return user.lookup([Self.counterName], zone: zone)
        }
        var items: [Ledger.Item] = []
        var operations: [String] = []
        let count = Bool.random(using: &chance) ? 1 : Int.random(in: 2...Self.batchMax, using: &chance)
        var free = ledger.names.shuffled(using: &chance)
        for _ in 0..<count {
            let isFull = ledger.names.count + items.count >= Self.recordsMax
            if free.isEmpty || (!isFull && Bool.random(using: &chance)) {
                let item = Ledger.Item(name: "\(name)-\(nextName)", mark: nextMark)
                nextName += 1
                operations.append(save(item, verb: "create", tag: nil))
                items.append(item)
            } else {
                let known = free.removeLast()
                let isDeletion = isFull || chance.next(upperBound: UInt(4)) == 0
                let item = Ledger.Item(name: known, mark: isDeletion ? nil : nextMark)
                let tag = ledger.held[known]?.tag
                operations.append(isDeletion ? deletion(of: known) : save(item, verb: "update", tag: tag))
                items.append(item)
            }
            nextMark += 1
        }
        ledger.begin(items)
        awaiting = .records
        return user.modify(operations, zone: zone)
    }

    /// Handles an answer.
    ///
    /// - Returns: A request that has to follow immediately, if any.
    mutating func take(status: Int, body: [UInt8], _ user: SignedInUser) throws -> RawRequest? {
        guard status == 200 else {
            faults.append("HTTP \(status): \(String(decoding: body.prefix(300), as: UTF8.self))")
            awaiting = .nothing
            return nil
        }
        let records = try RecordsAnswer(body).records
        switch awaiting {
        case .nothing: faults.append("an answer to nothing")
        case .records:
            faults += ledger.acknowledge(records)
            acknowledged += 1
        case .counterRead:
            guard let counter = records.first, let count = counter.fields?.count?.value,
                let tag = counter.recordChangeTag
            else {
                faults.append("the counter cannot be read: \(records.first?.serverErrorCode ?? "no fields")")
                break
            }
            awaiting = .counterSaved
            return user.modify([Self.counter(count + 1, verb: "update", tag: tag)], zone: zone)
        case .counterSaved:
            switch records.first?.serverErrorCode {
            case nil: counted += 1
            case "CONFLICT": conflicts += 1
            case let code?: faults.append("counting was refused: \(code)")
            }
        }
        awaiting = .nothing
        return nil
    }

    /// Handles a connection that broke before the answer arrived.
    mutating func lose() {
        if awaiting == .counterSaved { countedPerhaps += 1 }
        awaiting = .nothing
    }

    mutating func reconcile(with found: [String: Ledger.Held]) { faults += ledger.reconcile(with: found) }

    static func counter(_ count: Int, verb: String, tag: String?) -> String {
        operation(
            verb, name: counterName, type: "Counter", tag: tag,
            fields: #"{"count":{"value":\#(count),"type":"INT64"}}"#)
    }

    private mutating func save(_ item: Ledger.Item, verb: String, tag: String?) -> String {
        let payload = String(repeating: "QUJD", count: Int.random(in: 1...64, using: &chance))
        return Self.operation(
            verb, name: item.name, type: "Item", tag: tag,
            fields: #"{"mark":{"value":\#(item.mark ?? 0),"type":"INT64"},"#
                + #""title":{"value":"\#(item.name) “zoë” \#(item.mark ?? 0)","type":"STRING"},"#
                + #""payload":{"value":"\#(payload)","type":"BYTES"}}"#)
    }

    /// Returns a deletion; half of them check the change tag.
    private mutating func deletion(of name: String) -> String {
        guard let tag = ledger.held[name]?.tag, Bool.random(using: &chance) else {
            return #"{"operationType":"forceDelete","record":{"recordName":"\#(name)"}}"#
        }
        return #"{"operationType":"delete","record":{"recordName":"\#(name)","recordChangeTag":"\#(tag)"}}"#
    }

    private static func operation(
        _ verb: String, name: String, type: String, tag: String?, fields: String
    ) -> String {
        let tag = tag.map { #""recordChangeTag":"\#($0)","# } ?? ""
        return #"{"operationType":"\#(verb)","record":{"recordName":"\#(name)","recordType":"\#(type)","#
            + tag + #""fields":\#(fields)}}"#
    }
}
