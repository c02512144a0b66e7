import CloudKitModel
import CloudKitServer
import FileStore
import Testing

/// Assets in few words: Ada's private database, zone Z, field `photo` of notes, unless said otherwise.
extension TestCloud {
    func ticket(
        _ recordName: String? = "R", _ fieldName: String = "photo", type: String = "Note", zone: String = "Z",
        in scope: DatabaseScope = .private, by caller: Caller = Caller(user: ada)
    ) async throws -> AssetUploadTarget {
        try await PermitAssetUploads(cloud).run(
            AssetUploadRequest(
                items: [.init(recordType: type, recordName: recordName, fieldName: fieldName)],
                zoneID: ZoneID(zoneName: zone)), in: Self.address(scope), by: caller)[0]
    }

    /// Uploads a file for a field and returns the value for the record.
    func upload(
        _ bytes: [UInt8], for recordName: String = "R", _ fieldName: String = "photo", type: String = "Note",
        zone: String = "Z", in scope: DatabaseScope = .private, by caller: Caller = Caller(user: ada)
    ) async throws -> AssetValue {
        let ticket = try await ticket(recordName, fieldName, type: type, zone: zone, in: scope, by: caller)
        var reception = try await OpenAssetUpload(cloud).run(ticket.url).receiveWhole(announced: nil)
        try await reception.receive(bytes)
        return try await reception.finish()
    }

    /// The bytes of an asset of a record, as its download URL gives them.
    func download(_ asset: AssetValue) async throws -> [UInt8] {
        let address = Self.address(.private)
        let bearer = AssetBearer(container: address.container, environment: address.environment, user: Self.ada)
        guard let token = IssueDownloadToken(cloud).run(for: asset, bearer: bearer) else {
            throw RequestFailure(.internalError, "no file")
        }
        let file = try await OpenAssetDownload(cloud).run(token)
        return try await file.read(at: 0, count: Int(file.size))
    }

    /// Sweeps everything; how many files went.
    @discardableResult
    func sweep() async throws -> Int {
        var sweep = try await SweepAssets(cloud).runDrafts()
        for folder in UInt8.min ... .max { sweep = sweep + (try await SweepAssets(cloud).run(inFolder: folder)) }
        return sweep.files
    }

    /// The names of all sealed files.
    func fileIDs() async throws -> Set<String> {
        var ids: Set<String> = []
        for folder in UInt8.min ... .max { ids.formUnion(try await files.files(inFolder: folder).map(\.id.name)) }
        return ids
    }
}

extension Record {
    /// The assets of a field.
    func assets(_ name: String = "photo") throws -> [AssetValue] {
        try fields.first { $0.name == name }?.assets() ?? []
    }
}

func asset(_ name: String, _ value: AssetValue) throws -> FieldChange {
    .set(try Field(name: name, value: .asset(value)))
}

func assets(_ name: String, _ values: [AssetValue]) throws -> FieldChange {
    .set(try Field(name: name, value: .list(.asset, values.map { .asset($0) })))
}

/// A day and an hour: no receipt is good any more, and no time of grace left.
let longEnough: Int64 = 26 * 3_600_000
