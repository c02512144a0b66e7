import CloudKitModel
import CloudKitRecordLayer
import CloudKitSchema

/// Gives permission to upload files for fields of records.
package struct PermitAssetUploads: Sendable {
    private let cloud: Cloud

    /// Creates the operation on a cloud.
    package init(_ cloud: Cloud) { self.cloud = cloud }

    /// Permits uploads of files for fields of records, if the caller could save them there.
    ///
    /// Checked as a save is: the database, the zone, in the public database the grants of the record's type, the
    /// schema.
    ///
    /// - Returns: A ticket for each item, in their order, whose `url` is a token and not yet a URL; valid for 15
    ///   minutes.
    /// - Throws: The failure of the request or of its first bad item; no tickets are issued then.
    package func run(
        _ request: AssetUploadRequest, in address: DatabaseAddress, by caller: Caller
    ) async throws -> [AssetUploadTarget] {
        let place = try DatabaseAccess.place(address, for: caller, to: .writeRecords).reaching(request.zoneID)
        let zoneName = try ZoneAccess.zoneName(of: request.zoneID, in: place)
        try caller.checkItemCount(request.items.count)
        let schema = try await cloud.schemas.current(place.schemaPartition)
        let held = try await cloud.store.read(place.partition) { view in
            let access = try await CallerAccess(try await view.zone(named: zoneName), in: place, view)
            guard access.canWrite else { throw RequestFailure.writeNotPermitted }
            return try await access.records(request.items.map { $0.recordName ?? "" }, view)
        }
        let check = AssetFieldCheck(place: place, schema: schema, limits: cloud.limits)
        return try zip(request.items, held).map { item, held in
            let live = held.flatMap { $0.isTombstone ? nil : $0 }
            try check.check(item, held: live)
            let recordName = item.recordName ?? RecordName.random(cloud.serverEnvironment)
            let purpose = AssetPurpose(
                partition: place.partition, zoneName: zoneName, recordName: recordName, recordType: item.recordType,
                fieldName: item.fieldName, user: caller.user)
            let token = AssetUploadToken(
                bearer: AssetBearer(
                    container: address.container, environment: address.environment, user: caller.user),
                purpose: purpose, id: try .random(in: place.partition, cloud.serverEnvironment),
                bytesMax: bytesMax(of: caller),
                issued: cloud.serverEnvironment.now())
            return AssetUploadTarget(
                recordName: recordName, fieldName: item.fieldName, url: try token.sealed(by: cloud.assetSeal))
        }
    }

    private func bytesMax(of caller: Caller) -> Int64 {
        switch caller.surface {
        case .web: cloud.limits.webAssetBytesMax
        case .native: cloud.limits.nativeAssetBytesMax
        }
    }
}

/// Checks whether a caller could save a file in a field, as far as that is known before the file exists.
private struct AssetFieldCheck {
    let place: DatabaseContext
    let schema: Schema
    let limits: Limits

    func check(_ item: AssetUploadRequest.Item, held: StoredRecord?) throws(RequestFailure) {
        if let name = item.recordName { try Validity.recordName(name, isSystem: held != nil) }
        if let held, held.recordType != item.recordType {
            throw RequestFailure(
                .badRequest, "the record is of another type", remedy: "Name the type that the record has.")
        }
        if place.scope == .public {
            let refusal = PublicAccess.refusal(
                held == nil ? .create : .write, grants: schema[item.recordType]?.grants ?? Grant.defaults,
                user: place.caller.user, creator: held?.created.user, roles: schema.roles(of: place.caller.user),
                isOperator: place.caller.isOperator)
            if let refusal { throw refusal }
        }
        // As a save of the field would be, with something in it.
        let isList = schema[item.recordType]?.fields[item.fieldName]?.type.isList ?? false
        let field = Field(name: item.fieldName, type: isList ? .asset.list : .asset, json: Array("[{}]".utf8))
        var growth = SchemaGrowth(schema, environment: place.address.environment, fieldsMax: limits.fieldsMax)
        _ = try growth.admit([field], of: item.recordType)
    }
}
