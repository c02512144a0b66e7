import JSONBytes

extension LocationValue {
    /// Reads the object of docs/web-services.md §4; null and unknown keys are skipped.
    package init(_ value: JSONValue) throws(RequestFailure) {
        var latitude: Double?
        var longitude: Double?
        var result = LocationValue(latitude: 0, longitude: 0)
        do {
            var reader = value.reader
            try reader.beginObject()
            while let key = try reader.nextKey() {
                if try reader.readNull() { continue }
                switch key {
                case "latitude": latitude = try reader.double()
                case "longitude": longitude = try reader.double()
                case "horizontalAccuracy": result.horizontalAccuracy = try reader.double()
                case "verticalAccuracy": result.verticalAccuracy = try reader.double()
                case "altitude": result.altitude = try reader.double()
                case "speed": result.speed = try reader.double()
                case "course": result.course = try reader.double()
                case "timestamp": result.timestamp = try reader.int64()
                default: try reader.skipValue()
                }
            }
        } catch {
            throw .invalidValue(expected: .location)
        }
        guard let latitude, let longitude else { throw .invalidValue(expected: .location) }
        result.latitude = latitude
        result.longitude = longitude
        try result.validate()
        self = result
    }

    /// - Throws: `badRequest` unless the latitude is within ±90°, the longitude within ±180°, and every number finite.
    package func validate() throws(RequestFailure) {
        let others = [horizontalAccuracy, verticalAccuracy, altitude, speed, course]
        guard (-90...90).contains(latitude), (-180...180).contains(longitude),
            others.allSatisfy({ $0?.isFinite ?? true })
        else { throw .invalidValue(expected: .location) }
    }

    func append(to output: inout [UInt8]) throws(RequestFailure) {
        try validate()
        var writer = JSONWriter(capacity: 128)
        writer.beginObject()
        writer.key("latitude")
        writer.double(latitude)
        writer.key("longitude")
        writer.double(longitude)
        if let horizontalAccuracy {
            writer.key("horizontalAccuracy")
            writer.double(horizontalAccuracy)
        }
        if let verticalAccuracy {
            writer.key("verticalAccuracy")
            writer.double(verticalAccuracy)
        }
        if let altitude {
            writer.key("altitude")
            writer.double(altitude)
        }
        if let speed {
            writer.key("speed")
            writer.double(speed)
        }
        if let course {
            writer.key("course")
            writer.double(course)
        }
        if let timestamp {
            writer.key("timestamp")
            writer.int64(timestamp)
        }
        writer.endObject()
        output.append(contentsOf: writer.bytes)
    }
}
