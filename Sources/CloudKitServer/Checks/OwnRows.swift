import CloudKitAccounts
import CloudKitRecordLayer
import CloudKitSchema

/// The rows of partitions that are no databases: accounts, the directory, schemas, served requests, the registry, links of shares.
struct OwnRows {
    private let partition: StoragePartition
    private let view: StorageReader

    init(_ partition: StoragePartition, _ view: StorageReader) {
        self.partition = partition
        self.view = view
    }

    /// Checks a row; of a partition that is not known it says nothing.
    func findings(_ key: [UInt8], _ value: [UInt8]) async throws -> [RowFinding] {
        if partition == AccountStore.partition { return try await account(key, value).map { [$0] } ?? [] }
        if partition == DirectoryRowCheck.partition {
            return try await DirectoryRowCheck(view).problem(key, value).map { [$0] } ?? []
        }
        if partition.name.hasPrefix("served/") { return served(key, value).map { [$0] } ?? [] }
        if partition.name.hasPrefix("schema/") { return schema(key, value).map { [$0] } ?? [] }
        if partition == .nodes { return NodeTable.isRow(key, value) ? [] : [.unknownKind] }
        return OwnRowCheck.problem(key, value, in: partition).map { [$0] } ?? []
    }

    private func account(_ key: [UInt8], _ value: [UInt8]) async throws -> RowFinding? {
        guard let id = Fault.table.rowText(of: key) else { return try await AccountRowCheck(view).problem(key, value) }
        let fault = try? Fault(rowBytes: value)
        return fault?.id == id
            ? nil : RowFinding(kind: Fault.table.name, place: "a row", problem: RowFinding.malformedValue)
    }

    private func served(_ key: [UInt8], _ value: [UInt8]) -> RowFinding? {
        guard let shape = ServedRequestLog.table.rowText(of: key) else {
            return .unknownKind
        }
        let row = try? ServedRequestRow(rowBytes: value)
        return row?.key == shape
            ? nil : RowFinding(kind: ServedRequestLog.table.name, place: "a row", problem: RowFinding.malformedValue)
    }

    private func schema(_ key: [UInt8], _ value: [UInt8]) -> RowFinding? {
        do {
            switch try StorageSchemaRow(key, value) {
            case .recordType(let name): _ = try RecordTypeDefinition(name: name, stored: value)
            case .version, .role: break
            case nil: return .unknownKind
            }
            return nil
        } catch {
            return RowFinding(kind: "recordType", place: "a row", problem: RowFinding.malformedValue)
        }
    }
}
