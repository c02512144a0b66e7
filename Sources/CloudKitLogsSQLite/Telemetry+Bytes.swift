import CloudKitLogs

extension TelemetryKey {
    /// The stored form: equal keys have equal bytes.
    var bytes: [UInt8] {
        var writer = EntryWriter()
        writer.write(byte: kind.rawValue)
        writer.write(operation)
        for text in [container, environment, groupName, code] {
            writer.write(byte: text == nil ? 0 : 1)
            if let text { writer.write(text) }
        }
        return writer.bytes
    }

    /// Reads the stored form; nil for other bytes.
    init?(bytes: [UInt8]) {
        var reader = EntryReader(bytes)
        do throws(EntryReader.Malformed) {
            guard let kind = LogEntry.Kind(rawValue: try reader.byte()) else { return nil }
            self.init(kind: kind, container: nil, environment: nil, operation: try reader.text())
            if try reader.byte() == 1 { container = try reader.text() }
            if try reader.byte() == 1 { environment = try reader.text() }
            if try reader.byte() == 1 { groupName = try reader.text() }
            if try reader.byte() == 1 { code = try reader.text() }
        } catch {
            return nil
        }
    }
}

extension TelemetryCounts {
    /// The stored form.
    var bytes: [UInt8] {
        var writer = EntryWriter()
        for number in [count, bytesIn, bytesOut, itemsIn, itemsOut, itemsFailed, throttled] { writer.write(number) }
        writer.write(latencies.counts.count)
        for count in latencies.counts { writer.write(Int(count)) }
        return writer.bytes
    }

    /// Reads the stored form; nil for other bytes.
    init?(bytes: [UInt8]) {
        self.init()
        var reader = EntryReader(bytes)
        do throws(EntryReader.Malformed) {
            count = try reader.number()
            bytesIn = try reader.number()
            bytesOut = try reader.number()
            itemsIn = try reader.number()
            itemsOut = try reader.number()
            itemsFailed = try reader.number()
            throttled = try reader.number()
            var counts: [UInt32] = []
            for _ in 0..<(try reader.number()) { counts.append(UInt32(clamping: try reader.number())) }
            latencies = LatencyHistogram(counts: counts)
        } catch {
            return nil
        }
    }
}
