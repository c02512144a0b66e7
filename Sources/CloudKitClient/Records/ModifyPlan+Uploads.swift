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
        batch.items = []
        batch.request.operations = []
        batch.secrets = [:]
        batch.assets = [:]
        for (index, refusal) in refused.enumerated() where refusal == nil {
            let place = batch.items.count
            batch.items.append(items[index])
            batch.request.operations.append(request.operations[index])
            batch.secrets[place] = secrets[index]
            guard case .success(let fields) = uploads[index] else { continue }
            if batch.secrets[place] == nil {
                batch.request.operations[place].change.add(fields)
            } else {
                batch.secrets[place]?.assets = fields
            }
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
        request.atomic != false && scope != .public && !request.zoneID.isDefaultZone
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
