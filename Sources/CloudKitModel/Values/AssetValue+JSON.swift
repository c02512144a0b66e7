import JSONBytes

extension AssetValue {
    /// Reads the dictionary of docs/web-services.md §7, or its stored form; null and unknown keys are skipped.
    package init(_ value: JSONValue) throws(RequestFailure) {
        var fileChecksum: String?
        var result = AssetValue(fileChecksum: "", size: 0)
        do {
            var reader = value.reader
            try reader.beginObject()
            while let key = try reader.nextKey() {
                if try reader.readNull() { continue }
                switch key {
                case "fileChecksum": fileChecksum = try reader.string()
                case "size": result.size = try reader.int64()
                case "wrappingKey": result.wrappingKey = try reader.string()
                case "referenceChecksum": result.referenceChecksum = try reader.string()
                case "receipt": result.receipt = try reader.string()
                case "fileID": result.fileID = try reader.string()
                case "downloadURL": result.downloadURL = try reader.string()
                default: try reader.skipValue()
                }
            }
        } catch {
            throw .badAsset
        }
        guard let fileChecksum, !fileChecksum.isEmpty, result.size >= 0 else { throw .badAsset }
        result.fileChecksum = fileChecksum
        self = result
    }

    /// Prints what `init(_:)` reads.
    package func append(to output: inout [UInt8]) {
        var writer = JSONWriter(capacity: 160)
        writer.beginObject()
        writer.key("fileChecksum")
        writer.string(fileChecksum)
        writer.key("size")
        writer.int64(size)
        if let wrappingKey {
            writer.key("wrappingKey")
            writer.string(wrappingKey)
        }
        if let referenceChecksum {
            writer.key("referenceChecksum")
            writer.string(referenceChecksum)
        }
        if let receipt {
            writer.key("receipt")
            writer.string(receipt)
        }
        if let downloadURL {
            writer.key("downloadURL")
            writer.string(downloadURL)
        }
        if let fileID {
            writer.key("fileID")
            writer.string(fileID)
        }
        writer.endObject()
        output.append(contentsOf: writer.bytes)
    }
}

extension RequestFailure {
    fileprivate static let badAsset = RequestFailure(.badRequest, "could not decode asset object")
}
