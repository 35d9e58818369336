# SPDX-License-Identifier: Apache-2.0
"""Architectures of the packages transformers (4.44) and diffusers (0.30), of few layers and channels."""
import torch
import transformers as t
from transformers.models.sam.modeling_sam import SamVisionEncoder

SMALL = """segformer clip_vision dinov2 depth_anything detr rt_detr_backbone rt_detr whisper_encoder sd_unet sd_vae_decoder""".split()
OTHERS = """sam_encoder deformable_detr sd_vae_encoder swin2sr vitmatte wav2vec2 whisper_decoder""".split()


class Called(torch.nn.Module):
    """A module by what is called on it: tensors alone go in and come out."""

    def __init__(self, model, call):
        super().__init__()
        self.model = model
        self.call = call

    def forward(self, *arguments):
        return self.call(self.model, *arguments)


def boxes(model, picture):
    found = model(picture)
    return found.logits, found.pred_boxes


def backbone(features):
    return t.ResNetConfig(embedding_size=16, hidden_sizes=[16, 32, 32, 64], depths=[1, 1, 1, 1], layer_type="basic",
                          out_features=features)


def detection(config, features):
    return config(use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=backbone(features),
                  d_model=32, encoder_layers=1, decoder_layers=1, encoder_ffn_dim=32, decoder_ffn_dim=32,
                  encoder_attention_heads=2, decoder_attention_heads=2, num_queries=10)


def sam_encoder():
    config = t.SamVisionConfig(hidden_size=64, num_hidden_layers=4, num_attention_heads=4, image_size=256, mlp_dim=64,
                               global_attn_indexes=[1, 3], window_size=7, output_channels=32)
    return Called(SamVisionEncoder(config), lambda m, x: m(x)[0]), (torch.rand(1, 3, 256, 256),)


def segformer():
    config = t.SegformerConfig(hidden_sizes=[16, 32, 64, 64], decoder_hidden_size=32, depths=[1, 1, 1, 1],
                               num_attention_heads=[1, 1, 2, 2])
    return Called(t.SegformerForSemanticSegmentation(config), lambda m, x: m(x).logits), (torch.rand(1, 3, 128, 128),)


def detr():
    return Called(t.DetrForObjectDetection(detection(t.DetrConfig, ["stage4"])), boxes), (torch.rand(1, 3, 128, 128),)


def deformable_detr():
    config = detection(t.DeformableDetrConfig, ["stage2", "stage3", "stage4"])
    config.disable_custom_kernels = True
    return Called(t.DeformableDetrForObjectDetection(config), boxes), (torch.rand(1, 3, 128, 128),)


def rt_detr_features(**sizes):
    return t.RTDetrResNetConfig(layer_type="basic", out_features=["stage2", "stage3", "stage4"], **sizes)


def rt_detr_backbone():
    """That of RT-DETR R18, in full."""
    from transformers.models.rt_detr.modeling_rt_detr_resnet import RTDetrResNetBackbone
    config = rt_detr_features(hidden_sizes=[64, 128, 256, 512], depths=[2, 2, 2, 2])
    return Called(RTDetrResNetBackbone(config), lambda m, x: tuple(m(x).feature_maps)), (torch.rand(1, 3, 128, 128),)


def rt_detr():
    features = rt_detr_features(embedding_size=16, hidden_sizes=[16, 32, 32, 64], depths=[1, 1, 1, 1])
    config = t.RTDetrConfig(
        backbone_config=features, backbone=None, use_timm_backbone=False, use_pretrained_backbone=False, d_model=32,
        encoder_hidden_dim=32, encoder_in_channels=[32, 32, 64], encoder_ffn_dim=32, encoder_attention_heads=2,
        decoder_in_channels=[32, 32, 32], decoder_ffn_dim=32, decoder_attention_heads=2, decoder_layers=1, num_queries=20,
        anchor_image_size=[128, 128], disable_custom_kernels=True)
    return Called(t.RTDetrForObjectDetection(config), boxes), (torch.rand(1, 3, 128, 128),)


def dinov2():
    config = t.Dinov2Config(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, image_size=70, patch_size=14)
    return Called(t.Dinov2Model(config), lambda m, x: m(x)[0]), (torch.rand(1, 3, 98, 98),)


def depth_anything():
    stages = t.Dinov2Config(hidden_size=32, num_hidden_layers=4, num_attention_heads=2, image_size=70, patch_size=14,
                            out_features=["stage1", "stage2", "stage3", "stage4"], reshape_hidden_states=False,
                            apply_layernorm=True)
    config = t.DepthAnythingConfig(backbone_config=stages, reassemble_hidden_size=32, neck_hidden_sizes=[16, 16, 32, 32],
                                   fusion_hidden_size=16, head_hidden_size=8, patch_size=14)
    return Called(t.DepthAnythingForDepthEstimation(config), lambda m, x: m(x).predicted_depth), (torch.rand(1, 3, 98, 98),)


def whisper():
    return t.WhisperModel(t.WhisperConfig(
        d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
        encoder_ffn_dim=32, decoder_ffn_dim=32, vocab_size=100, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        decoder_start_token_id=1, max_source_positions=50))


def whisper_encoder():
    return Called(whisper().encoder, lambda m, x: m(x)[0]), (torch.rand(1, 80, 100),)


def whisper_decoder():
    return (Called(whisper().decoder, lambda m, ids, heard: m(ids, encoder_hidden_states=heard, use_cache=False)[0]),
            (torch.ones(1, 4, dtype=torch.long), torch.rand(1, 50, 32)))


def clip_vision():
    config = t.CLIPVisionConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
                                image_size=64, patch_size=32)
    return Called(t.CLIPVisionModel(config), lambda m, x: m(x)[1]), (torch.rand(1, 3, 64, 64),)


def swin2sr():
    config = t.Swin2SRConfig(embed_dim=16, depths=[1, 1], num_heads=[2, 2], window_size=4, image_size=16)
    return Called(t.Swin2SRForImageSuperResolution(config), lambda m, x: m(x).reconstruction), (torch.rand(1, 3, 32, 32),)


def vitmatte():
    stages = t.VitDetConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, image_size=64, pretrain_image_size=64,
                            patch_size=16, num_channels=4, out_features=["stage2"], window_block_indices=[0], window_size=2)
    config = t.VitMatteConfig(backbone_config=stages, hidden_size=32, convstream_hidden_sizes=[8, 8, 8],
                              fusion_hidden_sizes=[16, 16, 8, 8])
    return Called(t.VitMatteForImageMatting(config), lambda m, x: m(x).alphas), (torch.rand(1, 4, 64, 64),)


def wav2vec2():
    config = t.Wav2Vec2Config(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
                              conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3), num_feat_extract_layers=2,
                              num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4)
    return Called(t.Wav2Vec2Model(config), lambda m, x: m(x)[0]), (torch.rand(1, 4000),)


def sd_unet():
    from diffusers import UNet2DConditionModel
    model = UNet2DConditionModel(
        sample_size=16, block_out_channels=(32, 64), layers_per_block=1, down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), cross_attention_dim=32, attention_head_dim=8, norm_num_groups=8)
    return (Called(model, lambda m, x, step, text: m(x, step, text).sample),
            (torch.rand(1, 4, 16, 16), torch.tensor([3]), torch.rand(1, 7, 32)))


def sd_vae():
    from diffusers import AutoencoderKL
    return AutoencoderKL(block_out_channels=(16, 32), down_block_types=("DownEncoderBlock2D",) * 2,
                         up_block_types=("UpDecoderBlock2D",) * 2, norm_num_groups=8, layers_per_block=1)


def sd_vae_encoder():
    return Called(sd_vae(), lambda m, x: m.encode(x).latent_dist.mean), (torch.rand(1, 3, 32, 32),)


def sd_vae_decoder():
    return Called(sd_vae(), lambda m, x: m.decode(x).sample), (torch.rand(1, 4, 16, 16),)


def make(name):
    """The architecture with random weights, and its arguments."""
    return globals()[name]()
