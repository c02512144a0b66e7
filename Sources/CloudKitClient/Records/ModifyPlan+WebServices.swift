import CloudKitModel

/// The part of a modification that documented web services can take.
extension ModifyPlan.Batch {
    /// The batch with all values as they are: nothing of it is sealed, and files are sent plain. Encrypted values are not among the
    /// fields that are sent; `refusalsByWebServices` names the records that have some.
    var withoutKeys: Self {
        var batch = self
        batch.clientChangeToken = nil
        for index in batch.items.indices where batch.items[index].secrets?.fields.isEmpty ?? false {
            batch.items[index].secrets = nil
        }
        return batch
    }

    /// The reasons why records cannot be saved by documented web services, by the place of their operation.
    var refusalsByWebServices: [Int: Result<[AssetFieldValue], CallFailure>] {
        var refusals: [Int: Result<[AssetFieldValue], CallFailure>] = [:]
        for (index, item) in items.enumerated() {
            if let reason = item.refusalByWebServices { refusals[index] = .failure(.beyondWebServices(reason)) }
        }
        return refusals
    }
}

extension ModifyPlan.Item {
    fileprivate var refusalByWebServices: String? {
        if let field = secrets?.fields.first {
            return "Field '\(field.name)': web services give this device no keys for encryptedValues"
        }
        guard let share = operation.change.share else { return nil }
        if share.allowsAccessRequests == true || !share.denied.isEmpty || !share.blocked.isEmpty
            || !share.unblocked.isEmpty
        {
            return "Web services know no requests for access to shares"
        }
        if share.participants?.contains(where: \.isOneTime) ?? false { return "Web services know no one-time links" }
        return nil
    }
}
