import CloudKitModel

extension WireStyle {
    /// A field of assets as an answer shows it: with a download URL for each, without the parts that are the server's own
    /// (docs/web-services.md §7).
    func json(ofAssets field: Field) -> [UInt8] {
        do throws(RequestFailure) {
            return try field.with(try field.assets().map(answered)).json
        } catch {
            // Damaged: there is nothing to show, and nothing of the stored form may leave.
            return Array((field.type.isList ? "[]" : "null").utf8)
        }
    }

    private func answered(_ asset: AssetValue) -> AssetValue {
        var result = asset
        result.receipt = nil
        result.fileID = nil
        result.downloadURL = downloadURL?(asset) ?? asset.downloadURL
        return result
    }
}
