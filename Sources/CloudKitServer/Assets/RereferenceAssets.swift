import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Gives receipts for the assets of existing records.
package struct RereferenceAssets: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Issues receipts for assets of existing records, so that other records of the database can hold them too without
    /// another upload.
    ///
    /// A receipt is valid for any record of the target zone and for this caller, as long as the receipt of an upload.
    ///
    /// - Returns: An outcome for each item, in their order.
    package func run(
        _ request: RereferenceAssetsRequest, in address: DatabaseAddress, by caller: Caller
    ) async throws -> [RereferenceOutcome] {
        let place = try DatabaseAccess.place(address, for: caller, to: .writeRecords).reaching(request.zoneID)
        let zoneName = try ZoneAccess.zoneName(of: request.zoneID, in: place)
        let target = try ZoneAccess.zoneName(of: request.targetZoneID ?? request.zoneID, in: place)
        try caller.checkItemCount(request.items.count)
        let schema = try await cloud.schemas.current(place.schemaPartition)
        let expires = cloud.serverEnvironment.now() + cloud.limits.assetLifetimes.receipt
        let keptUntil = expires + cloud.limits.assetLifetimes.grace
        let found = try await cloud.store.write(place.partition) { transaction in
            let access = try await CallerAccess(try await transaction.zone(named: target), in: place, transaction)
            guard access.canWrite else { throw RequestFailure.writeNotPermitted }
            let source = try await CallerAccess(try await transaction.zone(named: zoneName), in: place, transaction)
            let records = try await source.records(request.items.map(\.recordName), transaction)
            var found: [Result<AssetValue, RequestFailure>] = []
            for (item, record) in zip(request.items, records) {
                let asset = Self.asset(item, of: record, in: place, schema)
                if let id = try? asset.get().fileID.flatMap({ AssetFileID(name: $0) }),
                    var known = try await transaction.assets([id])[0]
                {
                    known.keptUntil = max(known.keptUntil, keptUntil)
                    transaction.set(known)
                }
                found.append(asset)
            }
            return found
        }
        let purpose = AssetPurpose(
            partition: place.partition, zoneName: target, recordName: nil, recordType: nil, fieldName: nil,
            user: caller.user)
        return try zip(request.items, found).map { item, found in
            switch found {
            case .failure(let failure): return .failed(item, failure)
            case .success(let asset): return .asset(try receipted(asset, for: purpose, until: expires))
            }
        }
    }

    /// Returns the asset of one field, if the caller may read it.
    private static func asset(
        _ item: RereferenceAssetsRequest.Item, of record: StoredRecord?, in place: DatabaseContext, _ schema: Schema
    ) -> Result<AssetValue, RequestFailure> {
        guard let record, !record.isTombstone else { return .failure(.recordNotFound) }
        if place.scope == .public,
            let refusal = schema.refusal(
                .read, ofType: record.recordType, to: place.caller.user, creator: record.created.user)
        {
            return .failure(refusal)
        }
        guard let field = try? record.fields([item.fieldName]).first, field.type == .asset,
            let asset = try? field.assets().first
        else {
            return .failure(
                RequestFailure(
                    .badRequest, "the field holds no asset", remedy: "Name a field that holds one asset."))
        }
        return .success(asset)
    }

    private func receipted(
        _ asset: AssetValue, for purpose: AssetPurpose, until expires: Int64
    ) throws -> AssetValue {
        guard let id = asset.fileID.flatMap({ AssetFileID(name: $0) }) else {
            throw RequestFailure(.internalError, "A stored field is damaged.")
        }
        let stored = StoredAsset(id: id, size: asset.size, fileChecksum: asset.fileChecksum, keptUntil: expires)
        let receipt = AssetReceipt(purpose: purpose, asset: stored, expires: expires)
        return AssetValue(
            fileChecksum: asset.fileChecksum, size: asset.size, wrappingKey: asset.wrappingKey,
            referenceChecksum: asset.referenceChecksum, receipt: try receipt.sealed(by: cloud.assetSeal))
    }
}
