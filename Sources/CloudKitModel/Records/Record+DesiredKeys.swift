extension Record {
    /// The record with these fields only (B-REC-08); nil: all, empty: none.
    package func keeping(keys: [String]?) -> Record {
        guard let keys else { return self }
        var result = self
        let wanted = Set(keys)
        result.fields = fields.filter { wanted.contains($0.name) }
        return result
    }
}
