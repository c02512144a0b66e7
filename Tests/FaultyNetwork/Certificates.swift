/// Certificates for tests alone, valid from 2020; their keys are public.
package enum Certificates {
    /// Signed the others, but for `itself`.
    package static let authority = """
        -----BEGIN CERTIFICATE-----
        MIIBVjCB/aADAgECAhRx2wmxhDQBCmVmQ4ulIYqcLuaeWTAKBggqhkjOPQQDAjAg
        MR4wHAYDVQQDDBVXZWxraW4gdGVzdCBhdXRob3JpdHkwIBcNMjAwMTAxMDAwMDAw
        WhgPMjEyMDAxMDEwMDAwMDBaMCAxHjAcBgNVBAMMFVdlbGtpbiB0ZXN0IGF1dGhv
        cml0eTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABMnP2sJbhcTVyk/pQ5A+0o2T
        YCSsOX+EQukm4TtQtjsv7aaTi9QDC4JErMIVlDKv+hdTZeIechBs+rhfsprU4aij
        EzARMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIhAIRIweWiwRPK
        KRjDt0Gd0+bkTYZ0jsEZZaj5ti2ynCCHAiAF28IiVCS6jLG6nZtk8Q6/0999OsM4
        IcEE+b2vau9XHA==
        -----END CERTIFICATE-----
        """

    /// For this machine, as it should be.
    package static let here = RawServer.Identity(
        certificate: """
            -----BEGIN CERTIFICATE-----
            MIIBXzCCAQWgAwIBAgIUbVg8Iuxr/hl99q3bnvY9nBM5AoQwCgYIKoZIzj0EAwIw
            IDEeMBwGA1UEAwwVV2Vsa2luIHRlc3QgYXV0aG9yaXR5MCAXDTIwMDEwMTAwMDAw
            MFoYDzIxMjAwMTAxMDAwMDAwWjAPMQ0wCwYDVQQDDARoZXJlMFkwEwYHKoZIzj0C
            AQYIKoZIzj0DAQcDQgAE3u+3q9mWaW5maRmFzrfhhwYZZq/ffiRm9SeLkOaBcv3/
            7rAoGm48fEuc4LL1h9zN33/gy7s6Rzz37s2DQNxZsKMsMCowDAYDVR0TAQH/BAIw
            ADAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZIzj0EAwIDSAAwRQIh
            AIU5Quj27gNe79bQkIkjXJedeBv90h22i4x0LZJRfodaAiA1kYO0yng1sOU1v//q
            Ir83ENZ0b3ulPM3ev0bG2rkpWQ==
            -----END CERTIFICATE-----
            """,
        key: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgcJR1Oi4JjvxfWlZ2
            cGzTAH/ENudegwRFGoc7dZs5EBehRANCAATe77er2ZZpbmZpGYXOt+GHBhlmr99+
            JGb1J4uQ5oFy/f/usCgabjx8S5zgsvWH3M3ff+DLuzpHPPfuzYNA3Fmw
            -----END PRIVATE KEY-----
            """)

    /// For another machine.
    package static let elsewhere = RawServer.Identity(
        certificate: """
            -----BEGIN CERTIFICATE-----
            MIIBZTCCAQygAwIBAgIUM9jVuPl6oB7VWbUXghnDwvHEsVswCgYIKoZIzj0EAwIw
            IDEeMBwGA1UEAwwVV2Vsa2luIHRlc3QgYXV0aG9yaXR5MCAXDTIwMDEwMTAwMDAw
            MFoYDzIxMjAwMTAxMDAwMDAwWjAUMRIwEAYDVQQDDAllbHNld2hlcmUwWTATBgcq
            hkjOPQIBBggqhkjOPQMBBwNCAAQiG0YFhjKwz61MY7zVDSNApdJTTbE33UmbW4XM
            UGjo10YsKss7veedgVWwVCyBNWCF6skV755TzD3fEY/4fG1Noy4wLDAMBgNVHRMB
            Af8EAjAAMBwGA1UdEQQVMBOCEWVsc2V3aGVyZS5leGFtcGxlMAoGCCqGSM49BAMC
            A0cAMEQCIAETBEVwEoq1CJ/O0oUm1h/jH6ytkhPBj5QjGG+eJREiAiBrp1CiHNlM
            1JnuXby8w5Bsh4/KczNjFiZvoQXc+5Ud4w==
            -----END CERTIFICATE-----
            """,
        key: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgKRoNnXA79iCEH0As
            7kIAhRtx1jISWQllVNo2OHb7H+uhRANCAAQiG0YFhjKwz61MY7zVDSNApdJTTbE3
            3UmbW4XMUGjo10YsKss7veedgVWwVCyBNWCF6skV755TzD3fEY/4fG1N
            -----END PRIVATE KEY-----
            """)

    /// For this machine, until the end of 2020.
    package static let expired = RawServer.Identity(
        certificate: """
            -----BEGIN CERTIFICATE-----
            MIIBYDCCAQagAwIBAgIUa/x7iuVaV1cUEY35T/D4hu9b/6IwCgYIKoZIzj0EAwIw
            IDEeMBwGA1UEAwwVV2Vsa2luIHRlc3QgYXV0aG9yaXR5MB4XDTIwMDEwMTAwMDAw
            MFoXDTIxMDEwMTAwMDAwMFowEjEQMA4GA1UEAwwHZXhwaXJlZDBZMBMGByqGSM49
            AgEGCCqGSM49AwEHA0IABKmQCXbXLlSu/+AaSVE8dv/aee9sozbp7RFk2mcpXAC4
            6eDvemx3tmFBrS1z6i/dXXiceXmb0fVwvIMsoIdnIuajLDAqMAwGA1UdEwEB/wQC
            MAAwGgYDVR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMAoGCCqGSM49BAMCA0gAMEUC
            IQCJ6VaPizoixI4xbW4WYPz12YT5/VEv98Zi94ElYYJOWAIgWn6aUPA0dVUbVIhi
            RANuQzSMf76lX8YvJKAS0N/BxcA=
            -----END CERTIFICATE-----
            """,
        key: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg5AsTf4fhQ4cxwwLD
            /kHHs5gOEXC0oRtrVji7Qp810LehRANCAASpkAl21y5Urv/gGklRPHb/2nnvbKM2
            6e0RZNpnKVwAuOng73psd7ZhQa0tc+ov3V14nHl5m9H1cLyDLKCHZyLm
            -----END PRIVATE KEY-----
            """)

    /// A self-signed certificate for this machine.
    package static let itself = RawServer.Identity(
        certificate: """
            -----BEGIN CERTIFICATE-----
            MIIBWDCB/qADAgECAhQHPTXgMJXW5w3PaSJIIzbqgOuD6zAKBggqhkjOPQQDAjAU
            MRIwEAYDVQQDDAlsb2NhbGhvc3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEw
            MDAwMDBaMBQxEjAQBgNVBAMMCWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49
            AwEHA0IABIw434yslBJlNwI99wKJ0I7z6463/+MKxVIs1OjJOl+vmBnLiGLo3o/d
            ywUFm6kWwiAkPA9uQSqYZEDpQRD7wQajLDAqMAwGA1UdEwEB/wQCMAAwGgYDVR0R
            BBMwEYIJbG9jYWxob3N0hwR/AAABMAoGCCqGSM49BAMCA0kAMEYCIQC/W7NR2eDu
            aHipn7epYViTiGe1dmeGTUERmiM6EVBLXwIhAOYkcX+vkyUircdSbp/by/CkYvzl
            lerv6/NYIu1vx0kx
            -----END CERTIFICATE-----
            """,
        key: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgRskYnzgyN8VyWwNw
            X9hltuTk2wnCvwuU17K8DAE9ElWhRANCAASMON+MrJQSZTcCPfcCidCO8+uOt//j
            CsVSLNToyTpfr5gZy4hi6N6P3csFBZupFsIgJDwPbkEqmGRA6UEQ+8EG
            -----END PRIVATE KEY-----
            """)
}
