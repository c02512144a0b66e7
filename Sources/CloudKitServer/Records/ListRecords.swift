import CloudKitAccounts
import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Lists the records of a zone in the order of their names, without a query and without an index, for people who take their data along.
///
/// In the private database these are all records of one of the caller's zones, the default zone too, which has no feed (B-DB-13). In the
/// public database they are those that the caller created, as far as the caller may read them.
package struct ListRecords: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    ///
    /// - Parameter cloud: The cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Returns a page of the records of a zone.
    ///
    /// A page may hold no record and still not be the last: a request reads at most 2000 records. Records that are saved while pages are
    /// read may be missing, or be in them as they were before.
    ///
    /// - Parameters:
    ///   - request: The zone, the size of the page and the place at which it begins.
    ///   - address: The database, private or public.
    ///   - caller: The person; owners see their own zones only.
    /// - Returns: The page; records that are damaged are among its failures.
    /// - Throws: `authenticationRequired`; `zoneNotFound` and other failures of the zone; `badRequest` for the shared database, and for a
    ///   marker of another caller, database or zone.
    package func run(
        _ request: ListRecordsRequest, in address: DatabaseAddress, by caller: Caller
    ) async throws -> QueryPage {
        let place = try DatabaseAccess.place(address, for: caller, to: .readRecords)
        guard let user = caller.user else { throw RequestFailure.notSignedIn }
        guard place.scope != .shared else { throw RequestFailure.notApplicable(in: .shared) }
        let zoneName = try ZoneAccess.zoneName(of: request.zoneID, in: place)
        let seal = ListMarkerSeal(cloud.serverEnvironment, place: place, zoneName: zoneName)
        let start = try request.continuationMarker.flatMap { $0.isEmpty ? nil : $0 }.map(seal.open)
        let limit = cloud.limits.pageItems(wanted: request.resultsLimit, by: caller, usually: Self.resultsDefault)
        let schema = place.scope == .public ? try await cloud.schemas.current(place.schemaPartition) : .ofTheSystem
        let zoneID = place.zoneID(zoneName)
        let bytesMax = cloud.limits.answerBytesMax
        let found = try await cloud.store.read(place.partition) { view in
            let zone = try ZoneAccess.live(try await view.zone(named: zoneName))
            var page = ListedPage(after: start)
            var allowance = AnswerAllowance(bytesMax: bytesMax)
            page: while page.records.count < limit, page.readCount < Self.readMax, !allowance.isSpent {
                let stored = try await view.namedRecords(
                    zone: zone.number, after: page.last, limit: AnswerAllowance.batchMax)
                for (name, record) in stored {
                    if page.records.count == limit { break page }
                    page.readCount += 1
                    guard let record else {
                        page.damaged.append(name)
                        page.last = name
                        continue
                    }
                    allowance.read(bytes: record.storedBytes)
                    if !record.isTombstone, place.shows(record, to: user, schema) {
                        let record = try record.record(in: zoneID)
                        guard allowance.take(record) else { break page }
                        page.records.append(record)
                    }
                    page.last = name
                }
                if stored.count < AnswerAllowance.batchMax {
                    page.isLast = true
                    break
                }
            }
            try await view.attachShares(to: &page.records, zone: zone.number, in: place)
            return page
        }
        var records = found.records
        try await cloud.userDirectory.addIdentities(to: &records)
        // Whether the caller may see a record of the public database is written in the record.
        let damaged = place.scope == .public ? [] : found.damaged
        return QueryPage(
            records: records, failures: Dictionary(uniqueKeysWithValues: damaged.map { ($0, .recordDamaged) }),
            continuationMarker: found.isLast ? nil : try found.last.map(seal.seal))
    }

    private static let resultsDefault = 100
    private static let readMax = 2000
}

/// A page while it is read.
private struct ListedPage: Sendable {
    var records: [Record] = []
    var damaged: [String] = []
    /// Stored records that were read.
    var readCount = 0
    /// The name of the last record that the page has passed.
    var last: String?
    var isLast = false

    init(after name: String?) { last = name }
}

extension DatabaseContext {
    /// Returns whether a record is in the caller's list: every one of their own database, and those that they created in the public one.
    fileprivate func shows(_ record: StoredRecord, to user: UserID, _ schema: Schema) -> Bool {
        guard scope == .public else { return true }
        return record.created.user == user
            && schema.refusal(.read, ofType: record.recordType, to: user, creator: user, isOperator: false) == nil
    }
}

/// Makes the markers of lists, each valid for one caller, database and zone. A marker holds the name of a record, which in the public
/// database may be one that the caller must not see: so it is encrypted.
private struct ListMarkerSeal {
    private let codec: SealedTokenCodec
    private let context: [UInt8]

    init(_ serverEnvironment: ServerEnvironment, place: DatabaseContext, zoneName: String) {
        codec = SealedTokenCodec(purpose: "welkin record list marker 1", in: serverEnvironment)
        let parts = [place.partition.name, place.caller.user?.recordName ?? "", zoneName]
        // Lengths keep neighbours apart.
        context = Array(parts.map { "\($0.utf8.count):\($0)" }.joined().utf8)
    }

    func seal(_ name: String) throws -> String { try codec.sealText(Array(name.utf8), context: context) }

    func open(_ text: String) throws(RequestFailure) -> String {
        guard let name = codec.openText(text, context: context, bytesMax: 2048) else {
            throw RequestFailure(
                .badRequest, "Invalid continuation marker", remedy: "Repeat the request of the marker, or start again.")
        }
        return String(decoding: name, as: UTF8.self)
    }
}
