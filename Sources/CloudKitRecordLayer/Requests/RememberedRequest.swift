import CloudKitModel
import OrderedStore

/// The changes that a request has made in a partition, so that its repetition is answered without making them again (B-THR-07).
package struct RememberedRequest: Hashable, Sendable {
    /// The number of the latest attempt that was served.
    package var attempt: UInt16
    /// The user who sent the request.
    package var user: String
    /// The operations that took effect, by their positions in the request, each with the version of what it saved.
    package var versions: [Int: UInt64]

    /// Creates a value with the given properties.
    package init(attempt: UInt16, user: String, versions: [Int: UInt64]) {
        self.attempt = attempt
        self.user = user
        self.versions = versions
    }
}

extension RememberedRequest {
    private static let format: UInt8 = 1

    /// Operations one after the other, whose versions follow one another as well: nearly always all of a request.
    private struct Run {
        var position: Int
        var version: UInt64
        var count: Int
    }

    private var runs: [Run] {
        var runs: [Run] = []
        for (position, version) in versions.sorted(by: { $0.key < $1.key }) {
            if let last = runs.last, last.position + last.count == position,
                last.version &+ UInt64(last.count) == version
            {
                runs[runs.count - 1].count += 1
            } else {
                runs.append(Run(position: position, version: version, count: 1))
            }
        }
        return runs
    }

    /// The stored form.
    package var encoded: Bytes {
        let runs = runs
        var value = ValueWriter(capacity: 48 + 12 * runs.count)
        value.add(byte: Self.format)
        value.add(attempt)
        value.add(user)
        value.add(UInt16(clamping: runs.count))
        for run in runs {
            value.add(UInt16(clamping: run.position))
            value.add(UInt16(clamping: run.count))
            value.add(run.version)
        }
        return value.bytes
    }

    /// Reads the stored form.
    package init(decoding bytes: Bytes) throws {
        var value = ValueReader(bytes, of: .rememberedRequest)
        guard try value.byte() == Self.format else { throw DamagedValue(.rememberedRequest) }
        attempt = try value.number()
        user = try value.text()
        versions = [:]
        for _ in 0..<(try value.number(UInt16.self)) {
            let position = Int(try value.number(UInt16.self))
            let count = Int(try value.number(UInt16.self))
            let version = try value.number(UInt64.self)
            for offset in 0..<count { versions[position + offset] = version &+ UInt64(offset) }
        }
        guard value.isAtEnd else { throw DamagedValue(.rememberedRequest) }
    }
}

/// The memory that a partition has of one request.
///
/// Rows lie below the half-hour in which they were written, so that all of an older one are removed by one range. Two are looked into:
/// a request is remembered for at least half an hour, less what the clocks of nodes differ.
package struct RequestMemory: Sendable {
    private let attempt: RequestAttempt?
    private let user: String
    /// The half-hour in which rows are written; nil until it is known.
    private var period: Int64
    /// The last one in which a row was written.
    private var newestPeriod: Int64
    private var served: RememberedRequest?
    /// Whether the partition remembers the identifier for another user, whose memory stays.
    private var isOfAnotherUser = false

    /// Milliseconds.
    package static let periodLength: Int64 = 30 * 60 * 1_000

    /// The memory of a request that cannot be repeated: there is none.
    package static let none = RequestMemory(nil, user: "", now: 0)

    private init(_ attempt: RequestAttempt?, user: String, now: Int64) {
        self.attempt = attempt
        self.user = user
        period = now / Self.periodLength
        newestPeriod = 0
    }

    /// Creates the memory of a request before anything is read.
    ///
    /// - Parameters:
    ///   - attempt: The attempt that is served; nil: the request has no identifier.
    ///   - user: The user who sends it: a request of another one is another request.
    ///   - now: Milliseconds since 1970.
    package init(of attempt: RequestAttempt?, by user: UserID?, now: Int64) {
        self.init(user == nil ? nil : attempt, user: user?.recordName ?? "", now: now)
    }

    /// The keys to read before `take(_:_:)`; they may be read together with others.
    package var keys: [Bytes] {
        attempt == nil ? [] : [Self.newestPeriodKey, key(in: period), key(in: period - 1)].compactMap { $0 }
    }

    /// Takes the values under `keys`.
    package mutating func take(_ values: some Collection<Bytes?>, _ view: some Reading) async throws {
        guard attempt != nil else { return }
        var values = Array(values)
        if let bytes = values[0] { newestPeriod = try Self.period(decoding: bytes) }
        if newestPeriod > period {
            // Another node's clock is ahead.
            period = newestPeriod
            values = try await view.get(keys)
        }
        let rows = try values.dropFirst().compactMap { try $0.map(RememberedRequest.init(decoding:)) }
        served = rows.first { $0.user == user }
        isOfAnotherUser = served == nil && !rows.isEmpty
    }

    /// Reads what the partition remembers.
    package mutating func read(_ view: some Reading) async throws {
        guard attempt != nil else { return }
        try await take(try await view.get(keys), view)
    }

    /// Whether a later attempt of the request was served: nobody waits for the answer to this one.
    package var isOvertaken: Bool {
        guard let attempt, let served else { return false }
        return served.attempt > attempt.number
    }

    /// Whether operations of the request have taken effect.
    package var hasEffects: Bool { served.map { !$0.versions.isEmpty } ?? false }

    /// The version of what the operation at a position saved; nil: it has not taken effect.
    package func version(at position: Int) -> UInt64? { served?.versions[position] }

    /// Keeps the operations that took effect, in their transaction.
    ///
    /// - Parameter versions: Those of what was saved, by the positions of the operations. Without any, it is kept that a repetition was served,
    ///   for attempts that are still on their way.
    package mutating func keep(_ versions: [Int: UInt64], _ transaction: inout WriteTransaction) {
        guard let attempt, let key = key(in: period), !isOfAnotherUser, !versions.isEmpty || attempt.number > 1
        else { return }
        var row = served ?? RememberedRequest(attempt: attempt.number, user: user, versions: [:])
        row.attempt = max(row.attempt, attempt.number)
        row.versions.merge(versions) { $1 }
        served = row
        transaction.set(key, row.encoded)
        guard newestPeriod < period else { return }
        newestPeriod = period
        transaction.set(Self.newestPeriodKey, Self.encoded(period))
        transaction.clear(
            KeyRange(
                lower: Subspace.rememberedRequest.range.lower,
                upper: KeyBuilder(.rememberedRequest).adding(UInt64(clamping: period - 1)).bytes))
    }

    private func key(in period: Int64) -> Bytes? {
        guard let attempt else { return nil }
        return KeyBuilder(.rememberedRequest).adding(UInt64(clamping: period)).bytes + attempt.id
    }

    private static let newestPeriodKey: Bytes = [Subspace.rememberedRequestPeriod.rawValue]

    private static func encoded(_ period: Int64) -> Bytes {
        var value = ValueWriter(capacity: 8)
        value.add(period)
        return value.bytes
    }

    /// Reads the stored form of a half-hour.
    static func period(decoding bytes: Bytes) throws -> Int64 {
        var value = ValueReader(bytes, of: .rememberedRequestPeriod)
        return try value.number()
    }
}
