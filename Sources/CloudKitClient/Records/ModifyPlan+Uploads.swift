import CloudKitModel

extension ModifyPlan.Batch {
    /// Returns the part of the batch that is sent after the files of its records were uploaded or could not be, and the reason why
    /// an item stays, by the place of its operation; nil: it goes.
    ///
    /// - Parameter uploads: The fields of assets, by the place of their operation.
    func uploadableBatch(
        _ uploads: [Int: Result<[AssetFieldValue], CallFailure>], scope: DatabaseScope
    ) -> (batch: ModifyPlan.Batch, refused: [CallFailure?]) {
        let refused = refused(uploads, scope)
        var batch = self
        batch.items = zip(items.indices, refused).compactMap { index, refusal in
            refusal == nil ? items[index].adding(uploads[index]) : nil
        }
        return (batch, refused)
    }

    /// B-BAT-02: in an atomic zone nothing is saved when one record cannot be, and the others say so.
    private func refused(
        _ uploads: [Int: Result<[AssetFieldValue], CallFailure>], _ scope: DatabaseScope
    ) -> [CallFailure?] {
        let refused = items.indices.map { index -> CallFailure? in
            if case .failure(let failure) = uploads[index] { failure } else { nil }
        }
        guard isAtomic(in: scope), refused.contains(where: { $0 != nil }) else { return refused }
        return refused.map { $0 ?? .refused(RequestFailure(.atomicFailure, "Atomic failure")) }
    }

    /// A Boolean value that indicates whether either all items are saved or none (B-BAT-01, B-BAT-04).
    func isAtomic(in scope: DatabaseScope) -> Bool {
        wantsAtomic && scope != .public && !zoneID.isDefaultZone
    }
}

extension ModifyPlan.Item {
    /// Returns the item with its uploaded assets: among the fields that are sent as they are, or among those to seal.
    fileprivate func adding(_ uploads: Result<[AssetFieldValue], CallFailure>?) -> Self {
        guard case .success(let fields)? = uploads else { return self }
        var item = self
        item.fileChecksums = Dictionary(uniqueKeysWithValues: fields.flatMap(\.fileChecksums))
        if secrets == nil { item.operation.change.add(fields) } else { item.secrets?.assets = fields }
        return item
    }
}

extension RecordChange {
    /// Adds fields whose files are plain; all stay sorted by name.
    fileprivate mutating func add(_ added: [AssetFieldValue]) {
        // A dictionary of texts and a number is always a field.
        fields += added.compactMap { try? .set($0.field(sealedBy: nil)) }
        fields.sort { $0.name < $1.name }
    }
}
